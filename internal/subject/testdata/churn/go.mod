module example.org/churn

go 1.22
