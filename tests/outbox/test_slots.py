"""A fixed number of threads: what is submitted runs, what hangs keeps its own slot, what fails keeps none."""

import threading

from outbox.slots import Slots
from tests.barriers import Gate
from tests.waiting import wait_until


def slots(count: int, deliver) -> Slots:
    made = Slots(count, name="test", deliver=deliver, freed=lambda: None)
    made.start()
    return made


def test_as_many_run_side_by_side_as_there_are_slots_and_each_is_counted():
    barrier = threading.Barrier(3)
    pool = slots(3, lambda held: barrier.wait(20))
    for number in range(3):
        assert pool.free == 3 - number
        pool.submit(number)
        if number < 2:
            assert pool.busy == number + 1
    wait_until(lambda: pool.free == 3)
    pool.end()


def test_a_call_that_hangs_keeps_its_own_slot_and_no_other():
    gate, done = Gate(), []

    def deliver(held) -> None:
        if held == "hangs":
            gate()
        done.append(held)

    pool = slots(2, deliver)
    pool.submit("hangs")
    gate.wait_until_reached()
    for number in range(5):
        pool.submit(number)
        wait_until(lambda: pool.busy == 1)
    assert sorted(done) == [0, 1, 2, 3, 4]
    gate.open()
    wait_until(lambda: pool.busy == 0)
    pool.end()


def test_a_slot_is_told_to_be_free_after_it_is():
    seen = []
    pool = Slots(1, name="test", deliver=lambda held: None, freed=lambda: seen.append(pool.free))
    pool.start()
    pool.submit(1)
    wait_until(lambda: seen == [1])
    pool.end()


def test_ending_lets_idle_threads_go_and_does_not_wait_for_one_that_hangs():
    gate = Gate()
    pool = slots(2, gate)
    pool.submit("hangs")
    gate.wait_until_reached()
    pool.end()
    wait_until(lambda: [thread.is_alive() for thread in pool._threads].count(True) == 1)
    gate.open()
    wait_until(lambda: not any(thread.is_alive() for thread in pool._threads))
