module example.org/single

go 1.22
