module example.org/x

go 1.22
