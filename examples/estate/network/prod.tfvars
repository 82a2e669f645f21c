zones = 3
