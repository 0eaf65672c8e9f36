package own

import "testing"

// A function of assembly has no package in its name. That of the runtime is standard, and not the subject's own.
func TestAssembly(t *testing.T) {
	for name, file := range map[string]string{
		"gcWriteBarrier": "/usr/local/go/src/runtime/asm_amd64.s",
		"memeqbody":      "internal/bytealg/equal_amd64.s", // with -trimpath
	} {
		pkg := Package(name)
		if Is(pkg, file, "") || !IsStandard(pkg, file) {
			t.Errorf("%s in %s: package %q, own %v, standard %v", name, file, pkg, Is(pkg, file, ""), IsStandard(pkg, file))
		}
	}
}
