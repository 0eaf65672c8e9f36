// A stub until the scripts are merged.
document.documentElement.dataset.scripts = "yes";
export {};
