// Page makes run directories of invented results, for measuring how reports and
// the local pages behave with runs that would take hours to make.
package main

func main() {}
