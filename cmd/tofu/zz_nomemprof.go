package main

var writeHeap func()
