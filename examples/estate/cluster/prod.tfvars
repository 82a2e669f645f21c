machines = 2
