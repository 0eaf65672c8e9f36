package safe

import "regexp"

// secret matches the names of headers, variables, flags and parameters whose values are secret.
var secret = regexp.MustCompile(`(?i)(?:^|[-_.])(?:authorization|cookie|password|passwd|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|signature|sig|jwt)(?:$|[-_.])` +
	`|(?:password|secret|token|apikey|accesskey|authorization)$`)

// Secret reports whether a value looks secret by the name of its header, variable, flag or parameter.
func Secret(name string) bool { return secret.MatchString(name) }
