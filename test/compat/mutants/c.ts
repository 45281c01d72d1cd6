import type { Mutant } from './mutant.ts'

const cancellations = 'src/core/cancel/cancellations.ts'
const early = 'src/core/cancel/early-cancels.ts'
const route = 'src/http/routes/own/routes-cancel.ts'
const keys = 'src/dialect/wire/cancel-keys.ts'

/** Of Unsloth Studio's stop button. */
export const mutants: readonly Mutant[] = [
  { rows: ['C47'], file: cancellations, find: 'if (!isAdmin && description.owner !== by) return false', replace: '' },
  {
    rows: ['C5'],
    file: cancellations,
    find: 'if (cancelId !== undefined) return description.cancelId === cancelId',
    replace: 'if (cancelId !== undefined && description.cancelId === cancelId) return true',
  },
  {
    rows: ['C7', 'C11'],
    file: cancellations,
    find: 'const runs = [...this.#running.values()].filter(isMeant)',
    replace: 'const runs = [...this.#running.values()].filter(isMeant).slice(0, 1)',
  },
  { rows: ['C8', 'C39'], file: cancellations, find: 'return description.cancelId === cancelId', replace: 'return true' },
  {
    rows: ['C4'],
    file: cancellations,
    find: '(sessionId !== undefined && description.sessionId === sessionId)',
    replace: 'sessionId === undefined || description.sessionId === sessionId',
  },
  {
    rows: ['C6'],
    file: cancellations,
    find: 'replyIds.includes(description.id) || (',
    replace: 'replyIds.length > 0 ? replyIds.includes(description.id) : (',
  },
  {
    rows: ['C22'],
    file: cancellations,
    find: 'cancelId !== undefined && runs.length === 0)',
    replace: 'cancelId !== undefined)',
  },
  { rows: ['C9'], file: cancellations, find: 'if (this.#cancelled !== undefined) return false', replace: '' },
  { rows: ['C13', 'C14', 'C16'], file: cancellations, find: 'running.delete(description.id)\n', replace: '\n' },
  {
    rows: ['C18', 'C23', 'C41', 'C50'],
    file: cancellations,
    find: 'if (cancelId !== undefined && this.#early.take(owner, cancelId))',
    replace: 'if (this.#early.size < 0)',
  },
  { rows: ['C19'], file: early, find: 'const keptMs = 30_000', replace: 'const keptMs = 300_000' },
  {
    rows: ['C20'],
    file: cancellations,
    find: 'this.#early.add(isAdmin ? undefined : by, cancelId)',
    replace:
      'this.#early.add(isAdmin ? undefined : by, cancelId)\n    if (sessionId !== undefined) this.#early.add(undefined, sessionId)\n    for (const id of replyIds) this.#early.add(undefined, id)',
  },
  { rows: ['C1'], file: route, find: "scope: 'inference'", replace: "scope: 'public'" },
  { rows: ['C3'], file: route, find: 'isBodyLenient: true', replace: 'isBodyLenient: false' },
  { rows: ['C10'], file: keys, find: "?? usableKey(fieldOf(body, 'thread_id'))", replace: '' },
  { rows: ['C48'], file: keys, find: ", 'x-session-affinity']", replace: ']' },
  { rows: ['C49'], file: keys, find: 'if (sent === undefined || sent === key) return key', replace: 'return key' },
  { rows: ['C38'], file: 'src/dialect/anthropic/encode.ts', find: "cancelled: 'max_tokens'", replace: "cancelled: 'end_turn'" },
]
