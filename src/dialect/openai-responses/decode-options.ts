import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest, JsonObject, ReasoningOptions } from '../../contract/request.ts'
import { budgetMessageSpellings, budgetSpellings } from '../openai/common-fields.ts'
import { decodeAdapter, decodeLimit, decodeStop } from '../openai/decode-common.ts'
import { type DecodedOutput, decodeOutput } from '../openai/decode-output.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { isSame, pickSpelled, pickSpelling, spellingsOf } from '../openai/spelling.ts'
import type { ResponseWire } from './schema.ts'

/** The names of the output limit, this protocol's first. */
export const responseLimits = ['max_output_tokens', ...spellingsOf.limit] as const

/** The effort `none` switches thinking off. */
export function decodeReasoning(wire: ResponseWire): ReasoningOptions {
  const { reasoning, enable_thinking } = wire
  const effort = reasoning?.effort ?? undefined
  const enabled = enable_thinking ?? (effort === 'none' ? false : undefined)
  // A negative one counts as absent.
  const budgetTokens = pickSpelling(wire, budgetSpellings) ?? -1
  const budgetMessage = pickSpelling(wire, budgetMessageSpellings) ?? ''
  const preserve = preserveOf(reasoning?.context ?? 'auto')
  return {
    ...(enabled !== undefined && { enabled }),
    ...(effort !== undefined && { effort }),
    ...(budgetTokens >= 0 && { budgetTokens, ...(budgetMessage !== '' && { budgetMessage }) }),
    ...(preserve !== undefined && { preserve }),
  }
}

function preserveOf(context: string): boolean | undefined {
  switch (context) {
    case 'all_turns':
      return true
    case 'current_turn':
      return false
    case 'auto':
      return undefined
    default: {
      const param = 'reasoning.context'
      const message = `${param} ${JSON.stringify(context)} is not known: send "auto", "current_turn" or "all_turns"`
      throw new AppError('unsupported-field', message, { param })
    }
  }
}

/** Decodes `text.format`, or a constraint of another server's. Throws for two different ones. */
export function decodeFormat(wire: ResponseWire): DecodedOutput {
  const other = decodeOutput(wire)
  const own = decodeTextFormat(wire)
  if (own.constraint.type === 'text') return other.constraint.type === 'text' ? own : other
  if (other.constraint.type === 'text' || isSame(own.constraint, other.constraint)) return own
  const message = `${own.param} and ${other.param} are different constraints on the output: send one of them`
  throw new AppError('invalid-request', message, { param: other.param })
}

function decodeTextFormat({ text }: ResponseWire): DecodedOutput {
  const format = text?.format
  const param = 'text.format'
  switch (format?.type) {
    case undefined:
    case 'text':
      return { constraint: { type: 'text' }, param }
    case 'json_object':
      return { constraint: { type: 'json-object' }, param }
    case 'json_schema': {
      const { name, description, schema, strict } = format
      refuseLargeJson(schema, `${param}.schema`)
      const about = {
        ...(typeof name === 'string' && { name }),
        ...(typeof description === 'string' && { description }),
      }
      return { constraint: { ...about, type: 'json-schema', schema, strict: strict ?? false }, param: `${param}.schema` }
    }
  }
}

/** Log-probabilities are reported when `include` names them, or `top_logprobs` is above 0. */
export function decodeLogprobs({ include, top_logprobs: top }: ResponseWire): { readonly top: number } | undefined {
  const isIncluded = (include ?? []).includes('message.output_text.logprobs')
  return isIncluded || (top ?? 0) > 0 ? { top: top ?? 0 } : undefined
}

export function limitOf(wire: ResponseWire): number | undefined {
  return decodeLimit(pickSpelling(wire, responseLimits))
}

export function decodeLimits(
  wire: ResponseWire,
): Pick<GenerationRequest, 'maxOutputTokens' | 'minOutputTokens' | 'stop' | 'ignoreEos' | 'adapter'> {
  const maximum = limitOf(wire)
  const minimum = pickSpelled(wire, spellingsOf.minimum)
  if (minimum !== undefined && maximum !== undefined && minimum.value > maximum) {
    const { name, value } = minimum
    const message = `${name} ${value} is more than the limit on the output, which is ${maximum}: lower it, or raise max_output_tokens`
    throw new AppError('invalid-request', message, { param: name })
  }
  return {
    ...(maximum !== undefined && { maxOutputTokens: maximum }),
    ...(minimum !== undefined && minimum.value > 0 && { minOutputTokens: minimum.value }),
    stop: decodeStop(wire),
    ignoreEos: pickSpelling(wire, ['ignore_eos', 'ban_eos_token']) ?? false,
    ...decodeAdapter(wire),
  }
}

/** The variables of the chat template; `text.verbosity` is one. */
export function decodeVariables(wire: ResponseWire): JsonObject {
  const variables = pickSpelled(wire, ['template_vars', 'chat_template_kwargs'])
  const verbosity = wire.text?.verbosity ?? undefined
  if (variables !== undefined) {
    refuseLargeJson(variables.value, variables.name)
    const reserved = ['messages', 'tools', 'add_generation_prompt'].find((name) => Object.hasOwn(variables.value, name))
    if (reserved !== undefined) {
      const param = `${variables.name}.${reserved}`
      throw new AppError('invalid-request', `${param} comes from the request's own fields: leave it out`, { param })
    }
  }
  return { ...(verbosity !== undefined && { verbosity }), ...variables?.value }
}
