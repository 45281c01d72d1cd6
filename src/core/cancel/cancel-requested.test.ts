import { describe, expect, test } from 'vitest'
import type { CancelKeys } from '../../contract/context.ts'
import type { Principal, Scope } from '../../contract/principal.ts'
import { Cancellations, type StoppedRun } from './cancellations.ts'

const alice = caller('alice')
const bob = caller('bob')
const admin = caller('root', 'admin')

function caller(id: string, ...scopes: readonly Scope[]): Principal {
  return { id, scopes: new Set<Scope>(['public', 'inference', ...scopes]) }
}

/** Cancellations with a clock that stands still, and what was reported of them. */
function start() {
  const clock = { ms: 1_000_000 }
  const stopped: StoppedRun[] = []
  const cancellations = new Cancellations({ now: () => clock.ms, onStopped: (run) => stopped.push(run) })
  let count = 0
  const open = (keys: CancelKeys = {}, owner = alice) => {
    count += 1
    return cancellations.open({ id: `run-${count}`, owner: owner.id, ...keys })
  }
  const cancel = (keys: CancelKeys & { readonly replyIds?: readonly string[] }, by = alice) =>
    cancellations.cancelRequested({ replyIds: [], ...keys, by: by.id, isAdmin: by.scopes.has('admin') })
  return { cancellations, clock, stopped, open, cancel }
}

describe('a cancel', () => {
  test('C2: counts each run once, by however many of its keys it is found', () => {
    const { open, cancel } = start()
    open({ sessionId: 's' })
    expect(cancel({ sessionId: 's', replyIds: ['run-1', 'run-1'] })).toBe(1)
  })

  test('C4: without a key cancels nothing', () => {
    const { open, cancel } = start()
    const run = open({ cancelId: 'c', sessionId: 's' })
    expect(cancel({})).toBe(0)
    expect(run.signal.aborted).toBe(false)
  })

  test('C5: by a cancel id ignores the other keys, also when nothing runs with that id', () => {
    const { open, cancel } = start()
    const newer = open({ cancelId: 'new', sessionId: 's' })
    expect(cancel({ cancelId: 'old', sessionId: 's', replyIds: ['run-1'] })).toBe(0)
    expect(newer.signal.aborted).toBe(false)
  })

  test('C6: without a cancel id finds the runs of all other keys', () => {
    const { open, cancel } = start()
    const runs = [open({ sessionId: 's' }), open(), open()]
    expect(cancel({ sessionId: 's', replyIds: ['run-2'] })).toBe(2)
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, true, false])
  })

  test('C7, C11: by a session cancels all of its runs', () => {
    const { open, cancel } = start()
    const runs = [open({ sessionId: 's' }), open({ sessionId: 's' }), open({ sessionId: 't' })]
    expect(cancel({ sessionId: 's' })).toBe(2)
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, true, false])
  })

  test('C8: of one run leaves the others of its session', () => {
    const { open, cancel } = start()
    const runs = [open({ cancelId: 'a', sessionId: 's' }), open({ cancelId: 'b', sessionId: 's' })]
    expect(cancel({ cancelId: 'a' })).toBe(1)
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, false])
  })

  test('C9: of what does not run is 0, and so is a second one', () => {
    const { open, cancel } = start()
    open({ cancelId: 'a' })
    expect([cancel({ sessionId: 'x' }), cancel({ cancelId: 'a' }), cancel({ cancelId: 'a' })]).toEqual([0, 1, 0])
  })

  test('C13, C14, C16: of runs that have ended finds nothing, however often they were closed', () => {
    const { cancellations, open, cancel } = start()
    const runs = Array.from({ length: 1000 }, (_, index) => open({ sessionId: 's', cancelId: `c${index}` }))
    for (const run of runs) run.cancel('client-gone')
    for (const run of [...runs, ...runs]) run.close()
    expect(cancel({ sessionId: 's' })).toBe(0)
    expect([cancellations.size, cancellations.earlySize]).toEqual([0, 0])
  })

  test('a cancel finds only the runs of its caller, an administrator’s those of everyone', () => {
    const { open, cancel } = start()
    const run = open({ cancelId: 'c', sessionId: 's' }, alice)
    expect([cancel({ sessionId: 's' }, bob), cancel({ replyIds: ['run-1'] }, bob), cancel({ cancelId: 'c' }, bob)]).toEqual([
      0, 0, 0,
    ])
    expect(run.signal.aborted).toBe(false)
    expect(cancel({ sessionId: 's' }, admin)).toBe(1)
  })
})

describe('a cancel before its run', () => {
  test('C17, C18, C23: cancels that run as soon as it is there, and no further one', () => {
    const { open, cancel, clock } = start()
    expect(cancel({ cancelId: 'c' })).toBe(0)
    clock.ms += 29_999
    expect([open({ cancelId: 'c' }).signal.aborted, open({ cancelId: 'c' }).signal.aborted]).toEqual([true, false])
  })

  test('C19: is forgotten after 30 seconds, at the next start of a run or the next cancel', () => {
    const { cancellations, open, cancel, clock } = start()
    cancel({ cancelId: 'c' })
    clock.ms += 30_000
    expect(open({ cancelId: 'c' }).signal.aborted).toBe(false)
    expect(cancellations.earlySize).toBe(0)
    cancel({ cancelId: 'd' })
    clock.ms += 30_000
    cancel({})
    expect(cancellations.earlySize).toBe(0)
  })

  test('C19: counts from the last one with the same id', () => {
    const { open, cancel, clock } = start()
    cancel({ cancelId: 'c' })
    clock.ms += 20_000
    cancel({ cancelId: 'c' })
    clock.ms += 20_000
    expect(open({ cancelId: 'c' }).signal.aborted).toBe(true)
  })

  test('C20: is not kept for a session or a reply', () => {
    const { cancellations, cancel } = start()
    cancel({ sessionId: 's', replyIds: ['run-1'] })
    expect(cancellations.earlySize).toBe(0)
  })

  test('C22: is not kept when its run was there', () => {
    const { cancellations, open, cancel } = start()
    const run = open({ cancelId: 'c' })
    cancel({ cancelId: 'c' })
    cancel({ cancelId: 'c' })
    run.close()
    expect(cancellations.earlySize).toBe(0)
    expect(open({ cancelId: 'c' }).signal.aborted).toBe(false)
  })

  test('C22b: is not for a run whose session or reply id has the same value', () => {
    const { open, cancel } = start()
    cancel({ cancelId: 'run-1' })
    expect(open({ sessionId: 'run-1', cancelId: 'other' }).signal.aborted).toBe(false)
    expect(open({ cancelId: 'run-1' }).signal.aborted).toBe(true)
  })

  test('a cancel before its run is for a run of its own caller; an administrator’s for one of anybody', () => {
    const { open, cancel } = start()
    cancel({ cancelId: 'c' }, bob)
    expect(open({ cancelId: 'c' }, alice).signal.aborted).toBe(false)
    expect(open({ cancelId: 'c' }, bob).signal.aborted).toBe(true)
    cancel({ cancelId: 'd' }, admin)
    expect(open({ cancelId: 'd' }, alice).signal.aborted).toBe(true)
  })

  test('a cancel before its run takes bounded memory: each caller’s oldest goes when there are 1000, and no other caller’s', () => {
    const { cancellations, open, cancel } = start()
    cancel({ cancelId: 'mine' }, bob)
    for (let index = 0; index <= 1000; index++) cancel({ cancelId: `c${index}` })
    expect(cancellations.earlySize).toBe(1001)
    expect(open({ cancelId: 'c0' }).signal.aborted).toBe(false)
    expect(open({ cancelId: 'c1' }).signal.aborted).toBe(true)
    expect(open({ cancelId: 'mine' }, bob).signal.aborted).toBe(true)
  })
})

test('a cancelled run reports why, by whom and when, once it has ended', () => {
  const { open, cancel, clock, stopped } = start()
  const run = open({ sessionId: 's' })
  run.servedBy('m')
  clock.ms += 100
  cancel({ sessionId: 's' }, admin)
  clock.ms += 20
  run.addTokensAfterCancel(2)
  expect(stopped).toEqual([])
  run.close()
  run.close()
  open().close()
  expect(stopped).toEqual([
    {
      id: 'run-1',
      owner: 'alice',
      sessionId: 's',
      model: 'm',
      reason: 'requested',
      by: 'root',
      afterMs: 100,
      endedMs: 20,
      tokensAfterCancel: 2,
    },
  ])
})

test('the end of the work is reported where it came before that of the request', () => {
  const { open, clock, stopped } = start()
  const [storing, over] = [open(), open()]
  over.workEnded()
  clock.ms += 100
  for (const run of [storing, over]) run.cancel('requested')
  clock.ms += 20
  storing.workEnded()
  clock.ms += 11_000
  for (const run of [storing, over]) run.close()
  expect(stopped.map(({ endedMs }) => endedMs)).toEqual([20, 0])
})
