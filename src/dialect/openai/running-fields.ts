import type { Field } from '../wire/field-table.ts'
import { flag } from '../wire/wire-types.ts'

/** llama-server's fields for what streams say while they run. */
export const runningFields: readonly Field[] = [
  { name: 'timings_per_token', treatment: 'used', note: "true: each chunk of a stream has llama-server's `timings` so far" },
]

export const runningShape = { timings_per_token: flag }

type RunningWire = { readonly timings_per_token?: boolean | null | undefined }

/** What a stream says while it runs. */
export type Running = { readonly timingsPerToken: boolean }

export function decodeRunning({ timings_per_token }: RunningWire): Running {
  return { timingsPerToken: timings_per_token === true }
}
