/** The variables of a chat template that each request has. */
export const variablesOfRequests: readonly string[] = ['messages', 'tools', 'add_generation_prompt']

const preserving = ['preserve_thinking', 'clear_thinking', 'keep_past_thinking', 'truncate_history_thinking']

/**
 * The template variables that request fields set, which have several names: a default under one name must not override a request's under
 * another. By name, the kind of field.
 */
export const variablesOfReasoning: ReadonlyMap<string, 'enabled' | 'effort' | 'preserve'> = new Map([
  ...['enable_thinking', 'thinking', 'thinking_mode'].map((name) => [name, 'enabled'] as const),
  ...['reasoning_effort', 'thinking_effort', 'reasoning_strength'].map((name) => [name, 'effort'] as const),
  ...preserving.map((name) => [name, 'preserve'] as const),
])
