import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { spellingsOf } from '../openai/spelling.ts'
import { type Field, refused, refuseValue } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { flag } from '../wire/wire-types.ts'

type DebuggedRequest = {
  /** The request without it, in the form of other protocols' clients. */
  readonly body: Readonly<Record<string, unknown>>
  /** The prompt stays in its slot. */
  readonly pinsPrompt: boolean
  /** The reply is the engine's metrics, and nothing is generated. */
  readonly asksMetrics: boolean
}

const shape = {
  ignore_eos: flag,
  pinned_system_prompt: flag,
  special_request: z.enum(['query_engine_metrics'], { error: 'query_engine_metrics' }).nullish(),
  // Both check each token against the grammar, so the text is the same.
  grammar_execution_mode: z.enum(['constraint', 'jump_forward'], { error: 'constraint or jump_forward' }).nullish(),
  disagg_config: z.unknown().optional(),
}
const schema = looseObject({ debug_config: looseObject(shape) })
const disaggregation: Field = refused('disagg_config', 'a prompt is read where its answer is generated')

/** Undefined for a body without the field. Throws `invalid-request` or `unsupported-field`, with `param`. */
export function readDebugConfig(body: unknown): DebuggedRequest | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { debug_config: config, ...rest } = body as Record<string, unknown>
  if (config === undefined || config === null) return undefined
  const { debug_config: wire } = validate(schema, { debug_config: config })
  if (wire.disagg_config !== undefined) refuseValue(disaggregation, 'debug_config.disagg_config', wire.disagg_config)
  const asksMetrics = wire.special_request === 'query_engine_metrics'
  if (asksMetrics) requireUsage(rest)
  // An unknown name stays, to be reported as ignored.
  const unknown = Object.keys(wire).filter((key) => !Object.hasOwn(shape, key))
  return {
    body: {
      ...(wire.ignore_eos === true ? { ...withoutStops(rest), ignore_eos: true } : rest),
      ...Object.fromEntries(unknown.map((key) => [`debug_config.${key}`, true])),
    },
    pinsPrompt: wire.pinned_system_prompt === true,
    asksMetrics,
  }
}

function requireUsage({ stream, stream_options: options }: Record<string, unknown>): void {
  const hasUsage = typeof options === 'object' && options !== null && Reflect.get(options, 'include_usage') === true
  if (stream === true && hasUsage) return
  const param = 'debug_config.special_request'
  const message = `${param} is answered in the usage of a stream: send stream true and stream_options.include_usage true with it`
  throw new AppError('invalid-request', message, { param })
}

/** MLC-LLM ignores stop sequences together with the end of a turn. */
function withoutStops(body: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !spellingsOf.stop.some((name) => name === key)))
}
