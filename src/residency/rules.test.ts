import { describe, expect, it } from 'vitest'
import type { ClaimKind, ResidencyEffect, ResidencyEvent } from './events.ts'
import { type Decision, type ResidencyLimits, ResidencyRules } from './rules.ts'

type Claim = { readonly name: string }
type Step = readonly [atMs: number, event: Report, effects: readonly string[]]
type Report = string | ResidencyEvent<Claim>

/** Rules with a budget of 10, minimum residency of 10 s and a grace of 1 s, and models of which each has the size that it reserves. */
function createRules(models: Readonly<Record<string, { isPinned?: boolean; idleTtlMs?: number }>>) {
  const rules = new ResidencyRules<Claim>({ budgetBytes: 10, minResidencyMs: 10_000, idleGraceMs: 1000 })
  const claims = new Map<string, Claim>()
  for (const [id, options] of Object.entries(models)) rules.add(id, { id, isPinned: false, ...options }, 0)
  let attempts: Record<string, number> = {}
  const show = (effect: ResidencyEffect<Claim>): string => {
    switch (effect.type) {
      case 'load':
        attempts = { ...attempts, [effect.key]: effect.attempt }
        return `load ${effect.key}`
      case 'unload':
        return `unload ${effect.key}: ${effect.reason}`
      case 'admit':
      case 'reject':
        return `${effect.type} ${effect.key}`
      case 'refuse':
        return `refuse ${effect.claim.name}: ${(effect.error as Error).message}`
      case 'grant':
      case 'defer':
        return `${effect.type} ${effect.claim.name}`
    }
  }
  /** `A wants big`, `A ends big`, `big needs 7`, `big is ready` … */
  const read = (text: string): ResidencyEvent<Claim> => {
    const [subject = '', verb, object = ''] = text.split(' ')
    const claimOf = (name: string) => {
      const claim = claims.get(name) ?? { name }
      claims.set(name, claim)
      return claim
    }
    switch (verb) {
      case 'wants':
      case 'preloads':
      case 'loads': {
        const kind: ClaimKind = verb === 'wants' ? 'request' : verb === 'loads' ? 'load' : 'preload'
        return { type: 'claim', key: object, claim: claimOf(subject), kind }
      }
      case 'ends':
        return { type: 'end', key: object, claim: claimOf(subject) }
      case 'needs':
        return { type: 'reserve', key: subject, bytes: Number(object) }
      case 'fails':
        return { type: 'load-failed', key: subject, attempt: attempts[subject] ?? 0, error: new Error('no such file') }
      case 'is':
        return { type: object as 'ready' | 'freed', key: subject }
      case 'gets':
        return { type: object as 'close' | 'reopen' | 'evict' | 'cancel-load', key: subject }
      default:
        return { type: 'tick' }
    }
  }
  const shown = ({ effects, wakeAtMs }: Decision<Claim>) => ({ effects: effects.map(show), wakeAtMs })
  return {
    rules,
    report: (event: Report, atMs: number) => shown(rules.decide(typeof event === 'string' ? read(event) : event, atMs)),
    change: (limits: ResidencyLimits, atMs: number) => shown(rules.changeLimits(limits, atMs)),
  }
}

/** `big` is loaded since 0, and was ready at 100. */
const loaded = (model: string, bytes: number, user = 'first'): Step[] => [
  [0, `${user} wants ${model}`, [`load ${model}`]],
  [0, `${model} needs ${bytes}`, [`admit ${model}`, `grant ${user}`]],
  [100, `${model} is ready`, []],
]

const cases: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'models that fit together stay together',
    [...loaded('a', 6, 'A'), ...loaded('b', 4, 'B'), [200, 'A2 wants a', ['grant A2']], [200, 'B2 wants b', ['grant B2']]],
  ],
  [
    'an idle model goes for another, after a grace in which its caller may come back',
    [
      ...loaded('a', 6, 'A'),
      [200, 'A ends a', []],
      [300, 'B wants b', ['load b']],
      [300, 'b needs 6', []],
      [1199, 'tick', []],
      [1200, 'tick', ['unload a: memory']],
      [1300, 'a is freed', ['admit b', 'grant B']],
    ],
  ],
  [
    'a model in use serves all of its requests until it has had its time; then it ends what runs, and new ones wait',
    [
      ...loaded('a', 6, 'A'),
      [200, 'B wants b', ['load b']],
      [200, 'b needs 6', []],
      [5000, 'A2 wants a', ['grant A2']],
      [5100, 'A ends a', []],
      [10_099, 'tick', []],
      [10_100, 'tick', []],
      [10_200, 'A3 wants a', []],
      [19_000, 'A2 ends a', ['unload a: memory']],
      [19_100, 'a is freed', ['load a', 'admit b', 'grant B']],
      [19_100, 'a needs 6', []],
      [20_000, 'b is ready', []],
      [30_000, 'tick', []],
      [31_000, 'B ends b', ['unload b: memory']],
      [31_100, 'b is freed', ['admit a', 'grant A3']],
    ],
  ],
  [
    'a model whose load took long is kept for longer when it is idle',
    [
      [0, 'A wants a', ['load a']],
      [0, 'a needs 6', ['admit a', 'grant A']],
      [30_000, 'a is ready', []],
      [30_000, 'B wants b', ['load b']],
      [30_000, 'b needs 6', []],
      [30_001, 'A ends a', []],
      [45_000, 'tick', []],
      [45_001, 'tick', ['unload a: memory']],
    ],
  ],
  [
    'a model whose load took long and that is always in use serves for as long as its load took',
    [
      [0, 'A wants a', ['load a']],
      [0, 'a needs 6', ['admit a', 'grant A']],
      [30_000, 'a is ready', []],
      [30_000, 'B wants b', ['load b']],
      [30_000, 'b needs 6', []],
      [59_999, 'tick', []],
      [60_000, 'A ends a', ['unload a: memory']],
    ],
  ],
  [
    'the least recently used of the idle models goes, and no more than necessary',
    [
      ...loaded('a', 3, 'A'),
      ...loaded('b', 3, 'B'),
      ...loaded('c', 3, 'C'),
      [200, 'B ends b', []],
      [300, 'A ends a', []],
      [400, 'C ends c', []],
      [20_000, 'D wants d', ['load d']],
      [20_000, 'd needs 4', ['unload b: memory']],
    ],
  ],
  [
    'one large model goes rather than a small one that would not be enough',
    [
      ...loaded('small', 1, 'S'),
      ...loaded('large', 8, 'L'),
      [200, 'S ends small', []],
      [300, 'L ends large', []],
      [20_000, 'D wants d', ['load d']],
      [20_000, 'd needs 5', ['unload large: memory']],
    ],
  ],
  [
    'a model in use stays where an idle one is enough',
    [
      ...loaded('a', 4, 'A'),
      ...loaded('b', 4, 'B'),
      [200, 'B ends b', []],
      [20_000, 'C wants c', ['load c']],
      [20_000, 'c needs 4', ['unload b: memory']],
    ],
  ],
  [
    'a pinned model stays while unloading others is enough, even if it is idle and they are in use',
    [
      ...loaded('pinned', 4, 'P'),
      ...loaded('b', 4, 'B'),
      [200, 'P ends pinned', []],
      [20_000, 'C wants c', ['load c']],
      [20_000, 'c needs 4', []],
      [20_100, 'B ends b', ['unload b: memory']],
    ],
  ],
  [
    'a pinned model goes for one that needs its memory',
    [
      ...loaded('pinned', 4, 'P'),
      [200, 'P ends pinned', []],
      [20_000, 'C wants c', ['load c']],
      [20_000, 'c needs 8', ['unload pinned: memory']],
    ],
  ],
  [
    'memory goes to the model that is wanted for longest',
    [
      ...loaded('a', 8, 'A'),
      [200, 'B wants b', ['load b']],
      [300, 'C wants c', ['load c']],
      [400, 'c needs 6', []],
      [500, 'b needs 6', []],
      [20_000, 'A ends a', ['unload a: memory']],
      [20_100, 'a is freed', ['admit b', 'grant B']],
    ],
  ],
  [
    'a small model is loaded at once while a large one waits, if that costs it nothing',
    [
      ...loaded('a', 6, 'A'),
      [20_000, 'B wants b', ['load b']],
      [20_000, 'b needs 8', []],
      [20_000, 'C wants c', ['load c']],
      [20_000, 'c needs 2', ['admit c', 'grant C']],
    ],
  ],
  [
    'a small model waits for a large one that waits for the same memory',
    [
      ...loaded('a', 6, 'A'),
      [20_000, 'B wants b', ['load b']],
      [20_000, 'b needs 8', []],
      [20_000, 'C wants c', ['load c']],
      [20_000, 'c needs 3', []],
    ],
  ],
  [
    'a model that no request waits for any more does not get the memory, and the others keep theirs',
    [
      ...loaded('a', 6, 'A'),
      [20_000, 'B wants b', ['load b']],
      [20_000, 'b needs 6', []],
      [20_100, 'A2 wants a', []],
      [20_200, 'B ends b', ['unload b: unwanted', 'grant A2']],
    ],
  ],
  [
    'a model that is wanted again while it is unloaded is loaded again',
    [
      ...loaded('a', 6, 'A'),
      [200, 'A ends a', []],
      [20_000, 'a gets close', ['unload a: command']],
      [20_000, 'A2 wants a', []],
      [20_100, 'a is freed', ['load a']],
    ],
  ],
  [
    'a model that needs more than there is in all is rejected, and who waits learns why',
    [
      [0, 'A wants a', ['load a']],
      [0, 'a needs 11', ['reject a']],
      [1, 'a is freed', []],
      [1, 'a fails', ['refuse A: no such file']],
      [2, 'A2 wants a', ['load a']],
    ],
  ],
  [
    'the failure of an earlier load is not that of a new one',
    [
      [0, 'A wants a', ['load a']],
      [1, { type: 'load-failed', key: 'a', attempt: 0, error: new Error('old') }, []],
      [2, 'a needs 6', ['admit a', 'grant A']],
    ],
  ],
  [
    'a model whose process restarts keeps its memory',
    [...loaded('a', 6, 'A'), [200, 'a needs 6', ['admit a']], [300, 'A2 wants a', ['grant A2']]],
  ],
  [
    'a model that failed for good frees its memory',
    [...loaded('a', 6, 'A'), [200, 'B wants b', ['load b']], [200, 'b needs 6', []], [300, 'a is freed', ['admit b', 'grant B']]],
  ],
  [
    'an idle model is unloaded after its time to live',
    [...loaded('brief', 6, 'A'), [200, 'A ends brief', []], [60_199, 'tick', []], [60_200, 'tick', ['unload brief: idle']]],
  ],
  [
    'a preload takes free memory only',
    [
      ...loaded('a', 6, 'A'),
      [20_000, 'P preloads b', ['load b']],
      [20_000, 'b needs 6', ['defer P', 'unload b: unwanted']],
      [20_001, 'b is freed', []],
      [20_100, 'P2 preloads c', ['load c']],
      [20_100, 'c needs 4', ['admit c', 'grant P2']],
    ],
  ],
  [
    'a request makes a preload serious',
    [
      ...loaded('a', 6, 'A'),
      [200, 'A ends a', []],
      [20_000, 'P preloads b', ['load b']],
      [20_000, 'B wants b', []],
      [20_000, 'b needs 6', ['unload a: memory']],
      [20_001, 'a is freed', ['admit b', 'grant P', 'grant B']],
    ],
  ],
  [
    'a command unloads a model when its requests have ended, and new ones wait and load it again',
    [
      ...loaded('a', 6, 'A'),
      [200, 'a gets close', []],
      [300, 'A2 wants a', []],
      [400, 'A ends a', ['unload a: command']],
      [500, 'a is freed', ['load a']],
    ],
  ],
  [
    'a model whose requests did not end in time is open again',
    [...loaded('a', 6, 'A'), [200, 'a gets close', []], [300, 'A2 wants a', []], [400, 'a gets reopen', ['grant A2']]],
  ],
  ['a model is unloaded by force while it is used', [...loaded('a', 6, 'A'), [200, 'a gets evict', ['unload a: command']]]],
  [
    'a load is cancelled at any step, and who waits is refused',
    [
      [0, 'A wants a', ['load a']],
      [1, 'a gets cancel-load', ["refuse A: the load of model 'a' was cancelled; try again", 'unload a: command']],
      [2, 'a is freed', []],
      ...loaded('b', 6, 'B'),
      [200, 'A wants a', ['load a']],
      [200, 'a needs 6', []],
      [201, 'a gets cancel-load', ["refuse A: the load of model 'a' was cancelled; try again", 'unload a: command']],
    ],
  ],
  ['a model that is ready is not a load to cancel', [...loaded('a', 6, 'A'), [200, 'a gets cancel-load', []]]],
  [
    'an engine that something else starts asks for memory like the others',
    [
      [0, 'a needs 6', ['load a', 'admit a']],
      [1, 'a is ready', []],
    ],
  ],
]

describe('the rules of residency', () => {
  it.each(cases)('the schedule follows the rules: %s', (_, steps) => {
    const { report } = createRules({
      ...Object.fromEntries(['a', 'b', 'c', 'd', 'small', 'large'].map((id) => [id, {}])),
      pinned: { isPinned: true },
      brief: { idleTtlMs: 60_000 },
    })
    for (const [atMs, event, effects] of steps) expect([event, ...report(event, atMs).effects]).toEqual([event, ...effects])
  })

  it('the rules of residency say when to ask again', () => {
    const { report } = createRules({ a: {}, b: {} })
    for (const [atMs, event] of loaded('a', 6)) report(event, atMs)
    report('B wants b', 200)
    expect(report('b needs 6', 200).wakeAtMs).toBe(10_100)
    expect(report('first ends a', 300).wakeAtMs).toBe(1300)
  })

  it('the rules of residency follow other limits: who waits is admitted or refused by them, and idle models leave by them', () => {
    const { report, rules, change } = createRules({ a: {}, b: {}, c: {}, brief: { idleTtlMs: 60_000 } })
    for (const [atMs, event] of loaded('a', 6)) report(event, atMs)
    report('B wants b', 200)
    report('b needs 6', 200)
    expect(change({ budgetBytes: 10, minResidencyMs: 5000, idleGraceMs: 1000 }, 200).wakeAtMs).toBe(5100)
    expect(change({ budgetBytes: 12, minResidencyMs: 5000, idleGraceMs: 1000 }, 300).effects).toEqual(['admit b', 'grant B'])
    report('C wants c', 400)
    report('c needs 6', 400)
    // What is loaded stays, although there is no room for it any more.
    expect(change({ budgetBytes: 5, minResidencyMs: 5000, idleGraceMs: 1000 }, 500).effects).toEqual(['reject c'])
    expect(rules.usedBytes).toBe(12)
    report('c fails', 500)
    report('first ends a', 600)
    expect(change({ budgetBytes: 5, minResidencyMs: 0, idleGraceMs: 0, idleTtlMs: 100 }, 700).effects).toEqual(['unload a: idle'])
  })

  it('the rules of residency count the memory that is in use or being freed', () => {
    const { report, rules } = createRules({ a: {}, b: {} })
    for (const [atMs, event] of loaded('a', 6)) report(event, atMs)
    report('a gets evict', 200)
    expect(rules.usedBytes).toBe(6)
    report('a is freed', 300)
    expect(rules.usedBytes).toBe(0)
  })
})
