import { fine } from '../../answers.ts'
import { type Check, has, upstreamGot } from '../../checks.ts'
import { cleansUp, get, over, post, type Request, reads, type Step, soon, starts, tiny, user } from '../../row.ts'

export const api = '/api/inference'

/** The field reaches another server as it was sent, or under another name. */
export function arrives(name: string, value: unknown, as = name): Step {
  return over(fine, { [name]: value }, upstreamGot(as, value))
}

/** Random texts, the same each time. */
export const drawn = tiny({ max_tokens: 12, ignore_eos: true, seed: 1, temperature: 1.5 })
/** The most probable text, beyond the end of the answer. */
export const greedy = tiny({ max_tokens: 12, ignore_eos: true, temperature: 0 })

const long = JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 })

/** A chat that takes an hour, found by what these checks see of the running ones, until a cancel ends it. */
export function cancelled(fields: object, cancel: object, ...whileRunning: readonly Check[]): readonly Step[] {
  const running: Request = { call: 'POST /v1/chat/completions', body: { model: 'scripted', messages: [user(long)], ...fields } }
  return [
    starts(reads(running)),
    soon(get(`${api}/active-generations`, has('count', 1), ...whileRunning)),
    cleansUp(post(`${api}/cancel`, cancel, has('cancelled', 1))),
    reads(running, has('choices.0.finish_reason', 'length')),
  ]
}

/** The stream of a chat below /api/inference. */
export function below(path: string, step: Step): Step {
  return 'request' in step ? { ...step, request: { ...step.request, call: `POST ${api}${path}` } } : step
}

/** A load of the model `tiny`, whose name is found in any case. */
export function loadOf(fields: object, ...checks: readonly Check[]): Step {
  return post(`${api}/load`, { model_path: 'TINY', ...fields }, ...checks)
}

export function unloadOf(name: string, ...checks: readonly Check[]): Step {
  return post(`${api}/unload`, { model_path: name }, ...checks)
}

/** Steps that load `tiny`, which is unloaded after them. */
export function loaded(...steps: readonly Step[]): readonly Step[] {
  return [...steps, cleansUp(unloadOf('tiny', has('status', 'unloaded')))]
}
