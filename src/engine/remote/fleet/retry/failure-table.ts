import type { UpstreamFailure } from '../../transport/upstream-error.ts'

/** The consequences of one kind of failed exchange. */
export type FailureRow = {
  /** The failure, as docs/engines/remote-failures.md words it. */
  readonly when: string
  readonly about: string
  /**
   * `opens`: immediately. `counts`: three in a row open it. `compared`: counts if another replica answers the same request, and otherwise
   * says nothing. `busy`: the replica is avoided for a while. `trial`: only the trial of a replica that is open has failed. `nothing`.
   */
  readonly breaker: 'opens' | 'counts' | 'compared' | 'busy' | 'trial' | 'nothing'
  /** The most attempts of a request that fails in this way. All rows with two attempts share them. */
  readonly attempts: 1 | 2 | 4
  /** Only a usable replica that has not failed the request is worth another attempt. */
  readonly elsewhereOnly?: true
  /** A reply that has begun is continued. */
  readonly continues: boolean
  /** The reply is continued without delay if another replica is usable. After much output, it counts as a new break. */
  readonly isBreak?: true
  /** Behind a router, which tries its own servers, the request is tried once more: there or elsewhere. Absent: not again. */
  readonly atRouter?: 'again' | 'elsewhere'
  /** The server has answered, so more attempts would add to its load: they have a budget. */
  readonly isAnswer?: true
  /** The replica did not fail the request: we moved it away. */
  readonly isMove?: true
}

const serverOrRequest = { about: 'the server or the request', breaker: 'compared', attempts: 2, continues: true } as const
const request = { about: 'the request', breaker: 'nothing', attempts: 1, continues: false } as const

/**
 * The single table behind the breaker, the retry rule and continuations. Its principle: a failure that only one request or one key causes
 * does not count against the server, so that no caller can take a server away from the others.
 */
export const failureTable = {
  unreachable: {
    when: 'no connection: refused, no such name, not accepted',
    about: 'the server',
    breaker: 'opens',
    attempts: 4,
    continues: true,
    atRouter: 'again',
  },
  unavailable: {
    when: '503 or 529 without `Retry-After`',
    about: 'the server',
    breaker: 'counts',
    attempts: 4,
    continues: true,
    // It may have no servers left.
    atRouter: 'elsewhere',
    isAnswer: true,
  },
  overloaded: {
    when: '429; 503 or 529 with `Retry-After`',
    about: 'its load',
    breaker: 'busy',
    attempts: 4,
    continues: true,
    atRouter: 'elsewhere',
    isAnswer: true,
  },
  failed: { ...serverOrRequest, when: '408, 425, 500, 502, 504 and other 5xx', isAnswer: true },
  reset: { ...serverOrRequest, when: 'a connection that breaks before an answer', atRouter: 'again' },
  'broke-off': {
    ...serverOrRequest,
    when: 'a reply that breaks off, or cannot be read',
    isBreak: true,
    atRouter: 'again',
  },
  silent: {
    when: 'silence: the server fails its checks, gives nobody a token, or is removed',
    about: 'the server',
    // Its checks, or the requests that it lost, have already counted.
    breaker: 'trial',
    attempts: 4,
    continues: true,
    isMove: true,
    atRouter: 'elsewhere',
  },
  'error-event': { ...serverOrRequest, when: 'an error object in a reply' },
  malformed: { ...serverOrRequest, when: 'something that is not a reply' },
  'ended-early': {
    ...request,
    when: 'a stream that ends without a finish reason',
    attempts: 2,
    continues: true,
    atRouter: 'again',
  },
  incomplete: { ...request, when: 'a reply that is declared complete, without a choice or a finish reason', attempts: 2 },
  excess: { ...request, when: 'a reply beyond all bounds' },
  'invalid-output': { ...request, when: '`invalid_output` of another Dragoman, which has repeated the request' },
  'tried-elsewhere': {
    ...serverOrRequest,
    when: '`upstream_failed` of another Dragoman, which has repeated the request',
    elsewhereOnly: true,
  },
  refused: { ...request, when: '3xx, 505, and all other 4xx' },
  'not-offered': {
    ...request,
    when: '404, 405, 501',
    about: 'what the server offers',
    attempts: 4,
    elsewhereOnly: true,
    atRouter: 'elsewhere',
  },
  'our-key': {
    when: '401 or 403 with the configured key',
    about: 'the key or the request',
    breaker: 'compared',
    attempts: 4,
    elsewhereOnly: true,
    continues: true,
    atRouter: 'elsewhere',
  },
  'no-key': {
    ...request,
    when: '401 or 403 without a key',
    about: 'the missing key',
    attempts: 4,
    elsewhereOnly: true,
    atRouter: 'elsewhere',
  },
  'callers-key': { ...request, when: "401, 403 or 429 with the caller's key", about: "the caller's key" },
} as const satisfies Record<string, FailureRow>

export type FailureName = keyof typeof failureTable

/** The owner of the key that the request carried. */
export type KeyOwner = 'ours' | 'callers' | 'none'

export function rowOf(failure: UpstreamFailure, key: KeyOwner): FailureRow {
  return failureTable[nameOf(failure, key)]
}

export function nameOf(failure: UpstreamFailure, key: KeyOwner): FailureName {
  switch (failure.type) {
    case 'connection':
      return failure.isRefused ? 'unreachable' : 'reset'
    case 'truncated':
      return 'broke-off'
    case 'silent':
    case 'malformed':
    case 'excess':
      return failure.type
    case 'incomplete':
      return failure.saidDone ? 'incomplete' : 'ended-early'
    case 'status':
      return nameOfStatus(failure, key)
  }
}

type FailedStatus = Extract<UpstreamFailure, { type: 'status' }>

function nameOfStatus({ status, code, isEvent, retryAfterMs }: FailedStatus, key: KeyOwner): FailureName {
  if (code === 'invalid_output') return 'invalid-output'
  if (code === 'upstream_failed') return 'tried-elsewhere'
  if (key === 'callers' && [401, 403, 429].includes(status)) return 'callers-key'
  if (status === 401 || status === 403) return key === 'none' ? 'no-key' : 'our-key'
  if (status === 404 || status === 405 || status === 501) return 'not-offered'
  const mayPass = status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 505)
  if (!mayPass) return 'refused'
  // No matter which status it names: the server took the request, and answers others.
  if (isEvent === true) return 'error-event'
  if (status === 429) return 'overloaded'
  if (status !== 503 && status !== 529) return 'failed'
  return retryAfterMs === undefined ? 'unavailable' : 'overloaded'
}
