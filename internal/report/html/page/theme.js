// @ts-check
// Light or dark: as the system has it, unless the reader chose.

const themeKey = "dyno-theme";
const themes = ["auto", "light", "dark"];

/**
 * startTheme makes a button choose the theme and remembers the choice.
 * @param {HTMLButtonElement} b
 */
export function startTheme(b) {
  let theme = remembered();
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    b.textContent = `Theme: ${theme}`;
  };
  b.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    show();
    try {
      localStorage.setItem(themeKey, theme);
    } catch {
      // A file or a sandbox may not remember; the choice holds for this page.
    }
  });
  show();
}

/** @returns {string} */
function remembered() {
  try {
    const theme = localStorage.getItem(themeKey);
    if (theme && themes.includes(theme)) return theme;
  } catch {
    // as above
  }
  return document.documentElement.dataset.theme ?? "auto";
}
