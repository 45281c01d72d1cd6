import { expect, test } from 'vitest'
import { AppError } from '../../../../contract/errors.ts'
import { profiles } from '../../servers/profiles.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import type { AcquiredReplica } from '../acquired-replica.ts'
import type { RequestOutcome } from '../pool.ts'
import type { Progress } from '../retry/retry-rule.ts'
import type { SilentRequest, Stop } from '../silence/silence.ts'
import type { ReplicaAttempt } from './movable-attempt.ts'
import { type AttemptResult, noProgress, type ReplicaTask, type RetryDeps, tryReplicas } from './try-replicas.ts'

const broken = new UpstreamError({ type: 'truncated' }, 'it broke')
const unable = new AppError('unsupported-field', 'it cannot')
const closed = new AppError('model-unavailable', 'the model was unloaded')

/** Two replicas, of which each attempt gets the next one, and what happened to them. */
function fleet() {
  const released: [string, RequestOutcome['type']][] = []
  const blamed: string[] = []
  const left: string[] = []
  const pauses: number[] = []
  const state = { isClosed: false, turn: 0 }
  const acquired = (): AcquiredReplica => {
    const id = state.turn++ % 2 === 0 ? 'a' : 'b'
    return {
      endpoint: { id, url: `http://${id}/v1`, weight: 1 },
      upstream: { profile: profiles.openai, model: 'm' },
      confirm: () => undefined,
      release: ({ type }) => void released.push([id, type]),
      learn: () => undefined,
      cachedTokens: 0,
      leave: () => void left.push(id),
      reportLoad: () => undefined,
      blame: () => void blamed.push(id),
    }
  }
  const deps: RetryDeps = {
    replicas: {
      count: 2,
      acquire: acquired,
      hasKnown: () => true,
      isUsable: () => true,
      hasUsable: () => true,
      pause: async (ms) => void pauses.push(ms),
      throwIfClosed: () => {
        if (state.isClosed) throw closed
      },
    },
    now: () => 0,
    random: () => 0.5,
  }
  return { deps, released, blamed, left, pauses, state }
}

type Attempt = () => AttemptResult<string>

function task(attempts: readonly Attempt[], options: Partial<ReplicaTask<string>> = {}): ReplicaTask<string> {
  const left = [...attempts]
  return {
    tokens: 1,
    affinityKeys: [],
    isAuxiliary: false,
    signal: new AbortController().signal,
    attempt: async () => left.shift()?.() ?? expect.unreachable('there should be no other attempt'),
    progress: () => noProgress,
    ...options,
  }
}

const answers = (): AttemptResult<string> => ({ type: 'answered', value: 'ok' })
const throwing = (error: unknown) => () => {
  throw error
}

test.each<[string, Attempt, RequestOutcome['type']]>([
  ['fails', throwing(broken), 'doubtful'],
  ['cannot do it', throwing(unable), 'neutral'],
])('when one replica %s another is tried, and each is released once', async (_, first, outcome) => {
  const { deps, released, pauses } = fleet()
  expect(await tryReplicas(deps, task([first, answers]))).toBe('ok')
  expect(released).toEqual([
    ['a', outcome],
    ['b', 'ok'],
  ])
  expect(pauses).toEqual([])
})

test('a failure that may pass is waited for', async () => {
  const { deps, pauses } = fleet()
  const busy = new UpstreamError({ type: 'status', status: 500 }, 'busy')
  await tryReplicas(deps, task([throwing(busy), answers]))
  expect(pauses).toEqual([50])
})

test('the last failure is reported', async () => {
  const { deps, released, blamed } = fleet()
  const down = new UpstreamError({ type: 'status', status: 503 }, 'it is down')
  await expect(tryReplicas(deps, task([1, 2, 3, 4].map(() => throwing(down))))).rejects.toMatchObject({
    cause: down,
    retryAfterMs: 1000,
  })
  expect(released).toHaveLength(4)
  expect(blamed).toEqual([])
})

test('a failure is blamed on its replica when another answers the same request, and on nobody when none does', async () => {
  const { deps, blamed } = fleet()
  await tryReplicas(deps, task([throwing(broken), answers]))
  expect(blamed).toEqual(['a'])
  await expect(tryReplicas(deps, task([throwing(broken), throwing(broken)]))).rejects.toBe(broken)
  expect(blamed).toEqual(['a'])
})

test('a replica that answers the second time is not blamed', async () => {
  const { deps, blamed, state } = fleet()
  const again = () => {
    state.turn = 0
    throw broken
  }
  await tryReplicas(deps, task([again, answers]))
  expect(blamed).toEqual([])
})

test('the first output of another replica is enough for a failure without output, and its end for one in mid-reply', async () => {
  const { deps, blamed } = fleet()
  let progress = noProgress
  const failing = (hasBegun: boolean) => async (replica: AcquiredReplica) => {
    progress = { ...noProgress, hasBegun, canContinue: true }
    if (replica.endpoint.id === 'a') throw broken
    replica.confirm()
    expect(blamed).toEqual([])
    progress = { ...progress, hasAdvanced: true }
    replica.confirm()
    expect(blamed).toEqual(hasBegun ? [] : ['a'])
    return { type: 'answered', value: 'ok' } as const
  }
  await tryReplicas(deps, { ...task([]), attempt: failing(false), progress: () => progress })
  blamed.length = 0
  await tryReplicas(deps, { ...task([]), attempt: failing(true), progress: () => progress })
  expect(blamed).toEqual(['a'])
})

test('a result without a request says nothing about the replica', async () => {
  const { deps, released } = fleet()
  expect(await tryReplicas(deps, task([() => ({ type: 'not-sent', value: 'none' })]))).toBe('none')
  expect(released).toEqual([['a', 'neutral']])
})

test.each<[string, unknown, Partial<ReplicaTask<string>>]>([
  ['an error of ours', new TypeError('a bug'), {}],
  ["the reader's failure", unable, { progress: () => undefined }],
])('%s is not retried', async (_, error, options) => {
  const { deps, released } = fleet()
  await expect(tryReplicas(deps, task([throwing(error)], options))).rejects.toBe(error)
  expect(released).toEqual([['a', 'neutral']])
})

test('a cancelled request says nothing about the replica, and rejects with the reason', async () => {
  const { deps, released } = fleet()
  const controller = new AbortController()
  const reason = new Error('gone')
  const cancelling = () => {
    controller.abort(reason)
    throw broken
  }
  await expect(tryReplicas(deps, task([cancelling], { signal: controller.signal }))).rejects.toBe(reason)
  expect(released).toEqual([['a', 'neutral']])
})

test('when the fleet is closed meanwhile, that is the reason', async () => {
  const { deps, state, released } = fleet()
  const closing = () => {
    state.isClosed = true
    throw broken
  }
  await expect(tryReplicas(deps, task([closing]))).rejects.toBe(closed)
  expect(released).toHaveLength(1)
})

/** As `fleet`, with the requests that are watched for silence. */
function watchedFleet() {
  const { deps, released, left } = fleet()
  const watched: (SilentRequest & { isEnded: boolean; stop?: Stop })[] = []
  const watch = (request: SilentRequest) => {
    const one: (typeof watched)[number] = { isEnded: false, ...request }
    watched.push(one)
    const ended = (stop?: Stop) => {
      one.isEnded = true
      if (stop !== undefined) one.stop = stop
      return stop === 'limit'
    }
    return { begun: () => undefined, ended }
  }
  return { deps: { ...deps, replicas: { ...deps.replicas, watch } }, released, left, watched }
}

const silent = new UpstreamError({ type: 'silent' }, 'lost')

test('a request without a first token moves once, again only from a dead replica, and the client is not cancelled', async () => {
  const { deps, watched, released, left } = watchedFleet()
  const canMove: (boolean | undefined)[] = []
  const hasUsable = (...except: ReadonlySet<string>[]) => ['a', 'b', 'c'].some((id) => !except.some((ids) => ids.has(id)))
  const attempt = async ({ endpoint, signal }: ReplicaAttempt) => {
    const one = watched.at(-1)
    canMove.push(one?.canMove(false), one?.canMove(true))
    if (endpoint.id === 'b') return answers()
    one?.end(silent)
    signal.throwIfAborted()
    return expect.unreachable('the attempt has ended')
  }
  const { signal } = new AbortController()
  const replicas = { ...deps.replicas, hasUsable }
  expect(await tryReplicas({ ...deps, replicas }, { ...task([]), signal, attempt })).toBe('ok')
  expect(canMove).toEqual([true, true, false, true])
  expect(released).toEqual([
    ['a', 'lost'],
    ['b', 'ok'],
  ])
  expect(watched.map(({ isEnded }) => isEnded)).toEqual([true, true])
  expect(left).toEqual(['a'])
})

test.each([
  ['first-token-timeout', 'limit', ['a']],
  ['stall-timeout', 'limit', ['a']],
  ['cancelled', 'caller', []],
] as const)('a conversation leaves a replica that has lost its request: %s', async (code, stop, expected) => {
  const { deps, watched, left } = watchedFleet()
  const stopped = new AbortController()
  const attempt = async ({ signal }: ReplicaAttempt) => {
    stopped.abort(new AppError(code, 'over'))
    signal.throwIfAborted()
    return answers()
  }
  await expect(tryReplicas(deps, { ...task([]), signal: stopped.signal, attempt })).rejects.toThrow('over')
  expect(watched[0]?.stop).toBe(stop)
  expect(left).toEqual(expected)
})

test.each<[string, Partial<Progress>, boolean]>([
  ['a reply that can be continued moves', { hasAdvanced: true, hasBegun: true, canContinue: true }, true],
  ['a reply that cannot be continued stays', { hasBegun: true }, false],
  ['the rest of a reply moves before its first token', { hasBegun: true, canContinue: true }, true],
])('%s', async (_, progress, expected) => {
  const { deps, watched } = watchedFleet()
  const attempt = async () => {
    expect(watched[0]?.canMove(false)).toBe(expected)
    return answers()
  }
  await tryReplicas(deps, { ...task([]), attempt, progress: () => ({ ...noProgress, ...progress }) })
})

test('a request stays where no other replica can be used', async () => {
  const { deps, watched } = watchedFleet()
  const hasUsable = (...except: ReadonlySet<string>[]) => !except.some((ids) => ids.has('a'))
  const attempt = async () => {
    expect(watched[0]?.canMove(false)).toBe(false)
    return answers()
  }
  await tryReplicas({ ...deps, replicas: { ...deps.replicas, hasUsable } }, { ...task([]), attempt })
})

test('a cancelled request ends its attempt with its own reason; auxiliary ones are not watched', async () => {
  const { deps, watched } = watchedFleet()
  const cancel = new AbortController()
  const reason = new AppError('cancelled', 'no longer wanted')
  const attempt = async ({ signal }: ReplicaAttempt) => {
    cancel.abort(reason)
    signal.throwIfAborted()
    return answers()
  }
  await expect(tryReplicas(deps, { ...task([]), signal: cancel.signal, attempt })).rejects.toBe(reason)
  expect(watched).toHaveLength(1)
  await tryReplicas(deps, task([answers], { isAuxiliary: true }))
  expect(watched).toHaveLength(1)
})
