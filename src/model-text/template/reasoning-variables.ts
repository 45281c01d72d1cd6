import type { JsonObject, ReasoningOptions } from '../../contract/request.ts'

/** The variable with which a template's thinking is switched, or, where it has only that, tuned. */
export type ThinkingSwitch = 'enable_thinking' | 'thinking' | 'thinking_mode' | 'thinking_budget' | 'reasoning_effort'

/** What each switch is set to; the first that a template knows is its switch. */
export const thinkingSwitches: readonly { readonly name: ThinkingSwitch; readonly on: unknown; readonly off: unknown }[] = [
  { name: 'enable_thinking', on: true, off: false },
  { name: 'thinking', on: true, off: false },
  { name: 'thinking_mode', on: 'enabled', off: 'disabled' },
  { name: 'thinking_budget', on: -1, off: 0 },
  { name: 'reasoning_effort', on: 'high', off: 'low' },
]

/**
 * A request's reasoning as the variables that chat templates know it by, all of its names at once: what a template does not
 * know, it does not read. An absent field sets nothing, which leaves the template its own default.
 */
export function reasoningVariables(
  { enabled, effort, budgetTokens, preserve }: ReasoningOptions,
  thinkingSwitch: ThinkingSwitch | undefined,
): JsonObject {
  const wanted = enabled ?? (effort === 'none' ? false : undefined)
  const tuned = effort === undefined || effort === 'none' ? undefined : effort
  return {
    ...(wanted !== undefined && switchVariables(wanted, thinkingSwitch)),
    ...(budgetTokens !== undefined && { thinking_budget: wanted === false ? 0 : budgetTokens }),
    ...(tuned !== undefined && { reasoning_effort: tuned, thinking_effort: tuned, reasoning_strength: tuned }),
    ...(preserve !== undefined && {
      preserve_thinking: preserve,
      clear_thinking: !preserve,
      keep_past_thinking: preserve,
      truncate_history_thinking: !preserve,
    }),
  }
}

function switchVariables(wanted: boolean, thinkingSwitch: ThinkingSwitch | undefined): JsonObject {
  const pairs = thinkingSwitches.filter(({ name }) => {
    // A budget and an effort say more than on and off: they are touched only to switch off, where nothing else can.
    const tunes = name === 'thinking_budget' || name === 'reasoning_effort'
    return !tunes || (name === thinkingSwitch && !wanted)
  })
  return Object.fromEntries(pairs.map(({ name, on, off }) => [name, wanted ? on : off]))
}
