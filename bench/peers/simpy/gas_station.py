"""SimPy's gas station, timed by itself.

Protocol, on standard input and output:
  here:  "ready VERSION" or "absent REASON"
  there: "SECONDS", of virtual time
  here:  "CARS PROCESSOR_SECONDS"
  both lines as often as it likes

The model is the one of SimPy's documentation, with a street that ends: cars, two pumps, a tank, and a truck that is
called when the tank is low.
"""

import random
import sys
import time

try:
    import simpy
except ImportError as error:
    print("absent", error, flush=True)
    sys.exit()

STATION, CAR = 200, 50


def car(env, pumps, tank):
    wanted = CAR - random.randint(5, 25)
    with pumps.request() as request:
        yield request
        yield tank.get(wanted)
        yield env.timeout(wanted / 2)


def truck(env, tank):
    yield env.timeout(300)
    yield tank.put(tank.capacity - tank.level)


def control(env, tank):
    while True:
        if tank.level * 4 < tank.capacity:
            yield env.process(truck(env, tank))
        yield env.timeout(10)


def street(env, pumps, tank, cars):
    while True:
        yield env.timeout(random.randint(30, 300))
        env.process(car(env, pumps, tank))
        cars[0] += 1


def run(seconds):
    random.seed(42)
    env = simpy.Environment()
    pumps = simpy.Resource(env, 2)
    tank = simpy.Container(env, STATION, init=STATION)
    cars = [0]
    env.process(control(env, tank))
    env.process(street(env, pumps, tank, cars))
    begin = time.process_time()
    env.run(until=seconds)
    return cars[0], time.process_time() - begin


print("ready", simpy.__version__, flush=True)
for line in sys.stdin:
    print(*run(int(line)), flush=True)
