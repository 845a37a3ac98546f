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
    follows: int = -1  # id of the job whose end it waits for before it is submitted
    think: int = -1    # s after that end; below 0: at its own time, if that is later

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


class Submissions:
    """A heap of (time, place in the trace, job); with dependencies, jobs come into it when what they follow has ended."""

    def __init__(self, jobs, dependencies):
        ids = {job.id for job in jobs}
        self.place = {job.id: number for number, job in enumerate(jobs)}
        follows = {job.id: job.follows for job in jobs if dependencies and 0 <= job.follows < job.id and job.follows in ids}
        self.followers = {}
        for job in jobs:
            if job.id in follows:
                self.followers.setdefault(follows[job.id], []).append(job)
        self.heap = [(job.submit, self.place[job.id], job) for job in jobs if job.id not in follows]
        heapq.heapify(self.heap)

    def ended(self, job, now):
        for other in self.followers.get(job.id, []):
            other.submit = now + other.think if other.think >= 0 else max(now, other.submit)
            heapq.heappush(self.heap, (other.submit, self.place[other.id], other))


def replay(jobs, processors, policy, dependencies=False):
    """{id: wait}."""
    submissions = Submissions(jobs, dependencies)
    if policy == "conservative":
        return _replay_conservative(jobs, processors, submissions)
    scheduler = Easy(processors, backfill=policy != "fcfs", shortest_first=policy == "easy-sjbf")
    ends = []
    count = 0
    while submissions.heap or ends:
        if submissions.heap and (not ends or submissions.heap[0][0] <= ends[0][0]):
            now, _, job = heapq.heappop(submissions.heap)
            scheduler.submitted(job, now)
        else:
            now, _, job = heapq.heappop(ends)
            scheduler.ended(job, now)
            submissions.ended(job, now)
        for started in scheduler.fresh:
            count += 1
            heapq.heappush(ends, (now + started.runs, count, started))
        scheduler.fresh.clear()
    return {job.id: job.start - job.submit for job in jobs}


def _replay_conservative(jobs, processors, submissions):
    scheduler = Conservative(processors)
    live = []  # reserved or running
    while submissions.heap or live:
        end = min(live, key=lambda job: (job.start + job.runs, job.start, job.id), default=None)
        if submissions.heap and (end is None or submissions.heap[0][0] <= end.start + end.runs):
            job = heapq.heappop(submissions.heap)[2]
            scheduler.submitted(job, job.submit)
            live.append(job)
        else:
            live.remove(end)
            scheduler.ended(end, end.start + end.runs)
            submissions.ended(end, end.start + end.runs)
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
            follows, think = (int(field) for field in (fields + ["-1"] * 18)[16:18])
            jobs.append(Job(number, submit, wanted, min(runs, asks), asks, None, follows, think))
    return jobs
