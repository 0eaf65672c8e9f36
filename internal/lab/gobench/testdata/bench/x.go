package x

func F() int { return 1 }
