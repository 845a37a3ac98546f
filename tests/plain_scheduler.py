"""A slow, direct scheduler over processors, written only to be compared with `minke simulate`: no cleverness.

Rules at equal times: submissions come before ends, one at a time; a job whose *requested* end has come counts as free; EASY looks
for starts at a submission only where the free processors suffice for that job; conservative places again, at each end, every job
that has not started, in order of submission, taking out only that job's own reservation.
"""
import dataclasses
import heapq


@dataclasses.dataclass
class Job:
    id: int
    submit: int
    processors: int
    runs: int  # s; at most `asks`
    asks: int  # s
    start: int | None = None

    @property
    def planned_end(self):
        return self.start + self.asks


class Profile:
    """Free processors over time, as a plain list of [time, free] steps."""

    def __init__(self, processors):
        self.steps = [[-10**12, processors]]

    def _step_at(self, time):
        low, high = 0, len(self.steps)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.steps[middle][0] <= time else (low, middle)
        return low

    def _cut(self, time):
        index = self._step_at(time)
        if self.steps[index][0] != time:
            index += 1
            self.steps.insert(index, [time, self.steps[index - 1][1]])
        return index

    def add(self, begin, end, processors):
        if begin < end:
            first = self._cut(begin)
            for step in self.steps[first:self._cut(end)]:
                step[1] += processors

    def forget_before(self, now):
        del self.steps[:self._step_at(now)]

    def free_at(self, time):
        return self.steps[self._step_at(time)][1]

    def earliest(self, now, processors, seconds):
        start = None
        for index in range(self._step_at(now), len(self.steps)):
            time, free = self.steps[index]
            if free < processors:
                start = None
                continue
            start = max(time, now) if start is None else start
            if index + 1 == len(self.steps) or self.steps[index + 1][0] >= start + seconds:
                return start
        raise AssertionError("the last step has everything free")


class Conservative:
    def __init__(self, processors):
        self.profile = Profile(processors)
        self.waiting = []

    def submitted(self, job, now):
        self.profile.forget_before(now)
        self._place(job, now)
        self.waiting.append(job)

    def ended(self, job, now):
        self.profile.forget_before(now)
        self.profile.add(now, max(now, job.planned_end), job.processors)
        self.waiting = [other for other in self.waiting if other.start > now]
        for other in self.waiting:
            self.profile.add(other.start, other.planned_end, other.processors)
            self._place(other, now)

    def _place(self, job, now):
        job.start = self.profile.earliest(now, job.processors, job.asks)
        self.profile.add(job.start, job.planned_end, -job.processors)

    def started(self):
        """Reservations stand for starts: all jobs that may have begun, with their times."""
        return self.waiting


class Easy:
    def __init__(self, processors, backfill=True, shortest_first=False):
        self.profile = Profile(processors)
        self.waiting = []
        self.backfill, self.shortest_first = backfill, shortest_first
        self.fresh = []

    def submitted(self, job, now):
        self.profile.forget_before(now)
        self.waiting.append(job)
        if self.profile.free_at(now) >= job.processors:
            self._look(now)

    def ended(self, job, now):
        self.profile.forget_before(now)
        self.profile.add(now, max(now, job.planned_end), job.processors)
        self._look(now)

    def _start(self, job, now):
        job.start = now
        self.profile.add(now, job.planned_end, -job.processors)
        self.fresh.append(job)

    def _look(self, now):
        while self.waiting and self.profile.free_at(now) >= self.waiting[0].processors:
            self._start(self.waiting.pop(0), now)
        if not self.backfill or not self.waiting:
            return
        head = self.waiting[0]
        reserved = self.profile.earliest(now, head.processors, head.asks)
        self.profile.add(reserved, reserved + head.asks, -head.processors)
        others = sorted(self.waiting[1:], key=lambda job: job.asks) if self.shortest_first else self.waiting[1:]
        for job in others:
            if self.profile.earliest(now, job.processors, job.asks) == now:
                self.waiting.remove(job)
                self._start(job, now)
        self.profile.add(reserved, reserved + head.asks, head.processors)


def replay(jobs, processors, policy):
    """{id: wait}."""
    if policy == "conservative":
        return _replay_conservative(jobs, processors)
    scheduler = Easy(processors, backfill=policy != "fcfs", shortest_first=policy == "easy-sjbf")
    events = [(job.submit, 0, number, job) for number, job in enumerate(jobs)]
    heapq.heapify(events)
    count = 0
    while events:
        now, is_end, _, job = heapq.heappop(events)
        (scheduler.ended if is_end else scheduler.submitted)(job, now)
        for started in scheduler.fresh:
            count += 1
            heapq.heappush(events, (now + started.runs, 1, count, started))
        scheduler.fresh.clear()
    return {job.id: job.start - job.submit for job in jobs}


def _replay_conservative(jobs, processors):
    scheduler = Conservative(processors)
    submissions = sorted(jobs, key=lambda job: job.submit)
    position, ended, tie = 0, set(), {}
    live = []  # reserved or running
    now = None
    while position < len(submissions) or live:
        end = min(live, key=lambda job: (job.start + job.runs, job.start, job.id), default=None)
        if position < len(submissions) and (end is None or submissions[position].submit <= end.start + end.runs):
            job = submissions[position]
            position += 1
            scheduler.submitted(job, job.submit)
            live.append(job)
        else:
            live.remove(end)
            scheduler.ended(end, end.start + end.runs)
    return {job.id: job.start - job.submit for job in jobs}


def read_swf(lines):
    """The jobs that the protocol keeps: every field that matters is positive."""
    jobs = []
    for line in lines:
        fields = line.split(";")[0].split()
        if not fields:
            continue
        number, submit, _, runs, used = (int(float(field)) for field in fields[:5])
        wanted, asks = int(fields[7]), int(float(fields[8]))
        wanted = wanted if wanted > 0 else used
        if runs > 0 and asks > 0 and wanted > 0:
            jobs.append(Job(number, submit, wanted, min(runs, asks), asks))
    return jobs
