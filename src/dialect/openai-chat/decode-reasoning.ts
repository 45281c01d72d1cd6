import { given } from '../../base/json.ts'
import type { ReasoningOptions } from '../../contract/request.ts'
import { budgetMessageSpellings, budgetSpellings } from '../openai/common-fields.ts'
import { mentions, type NamesIn } from '../openai/mentions.ts'
import { pickSpelling } from '../openai/spelling.ts'
import type { ChatWire } from './schema.ts'

type DecodedReasoning = { readonly reasoning: ReasoningOptions; readonly isShown: boolean }

const reasoningRequestFields = new Set([
  'enable_thinking',
  'reasoning_effort',
  'preserve_thinking',
  'include_reasoning',
  'reasoning',
  'thinking',
  ...budgetSpellings,
  ...budgetMessageSpellings,
] as const)

type ReasoningWire = Pick<ChatWire, NamesIn<typeof reasoningRequestFields>>

/** The values of one level of fields. The effort `none` switches thinking off. */
type Level = { readonly enabled: boolean | undefined; readonly effort: string | undefined }

/**
 * Flat fields take precedence over the objects `reasoning` and `thinking`, field by field; template variables, which take
 * precedence over both, are applied during rendering. The two objects must not contradict each other.
 */
export function decodeReasoning(wire: ReasoningWire): DecodedReasoning {
  if (!mentions(wire, reasoningRequestFields)) return { reasoning: {}, isShown: true }
  const flat: Level = { enabled: wire.enable_thinking ?? undefined, effort: wire.reasoning_effort ?? undefined }
  const objects = decodeObjects(wire)
  const effort = flat.effort ?? objects.effort
  const enabled = enabledBy(flat) ?? enabledBy(flat.effort === undefined ? objects : { ...objects, effort: undefined })
  const budgetTokens = decodeBudget(wire) ?? objects.budgetTokens
  const budgetMessage = pickSpelling(wire, budgetMessageSpellings) ?? ''
  const preserve = wire.preserve_thinking ?? undefined
  return {
    reasoning: {
      ...given({ enabled, effort, budgetTokens }),
      ...(budgetTokens !== undefined && budgetMessage !== '' && { budgetMessage }),
      ...(preserve !== undefined && { preserve }),
    },
    isShown: (wire.include_reasoning ?? true) && wire.reasoning?.exclude !== true,
  }
}

function enabledBy({ enabled, effort }: Level): boolean | undefined {
  return enabled ?? (effort === 'none' ? false : undefined)
}

function decodeObjects({ reasoning, thinking }: ReasoningWire): Level & { readonly budgetTokens: number | undefined } {
  const switches = { 'reasoning.enabled': reasoning?.enabled, thinking: isThinking(thinking) }
  const budgets = { 'reasoning.max_tokens': reasoning?.max_tokens, 'thinking.budget_tokens': budgetOf(thinking) }
  return {
    enabled: pickSpelling(switches, ['reasoning.enabled', 'thinking']),
    effort: reasoning?.effort ?? undefined,
    budgetTokens: pickSpelling(budgets, ['reasoning.max_tokens', 'thinking.budget_tokens']),
  }
}

function isThinking(thinking: ChatWire['thinking']): boolean | undefined {
  if (typeof thinking === 'boolean') return thinking
  switch (thinking?.type) {
    case 'enabled':
      return true
    case 'disabled':
      return false
    // The model decides, as by default.
    case 'adaptive':
    case 'auto':
    case null:
    case undefined:
      return undefined
  }
}

function budgetOf(thinking: ChatWire['thinking']): number | undefined {
  return typeof thinking === 'object' ? (thinking?.budget_tokens ?? undefined) : undefined
}

/** As in tabbyAPI, a negative budget counts as absent. */
function decodeBudget(wire: ReasoningWire): number | undefined {
  const budget = pickSpelling(wire, budgetSpellings)
  return budget === undefined || budget < 0 ? undefined : budget
}
