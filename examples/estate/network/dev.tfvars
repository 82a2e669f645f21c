zones = 2
