machines = 1
