import { variablesOfReasoning, variablesOfRequests } from '../../canonical/own-variables.ts'
import { AppError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { ChatDefaults } from '../../contract/served-model.ts'
import { pickSpelled } from '../openai/spelling.ts'
import { jsonObject } from '../wire/first-fault.ts'
import { flag, nonEmptyText } from '../wire/wire-types.ts'

/** The conversation fields of a preset, with the types of request fields. */
export const chatShape = {
  enable_thinking: flag,
  reasoning_effort: nonEmptyText.nullish(),
  preserve_thinking: flag,
  template_vars: jsonObject.nullish(),
  chat_template_kwargs: jsonObject.nullish(),
}

/** The values of one kind: defaults, or forced values. */
type Values = { readonly reasoning: ChatDefaults['reasoning']; readonly variables: JsonObject }

const fields = { enabled: 'enable_thinking', effort: 'reasoning_effort', preserve: 'preserve_thinking' } as const

/** Throws `invalid-request` for variables that requests always set, and, among defaults, for one that would override their fields. */
export function readChat(given: Readonly<Record<string, unknown>>, { isForced }: { readonly isForced: boolean }): Values {
  const { enable_thinking: enabled, reasoning_effort: effort, preserve_thinking: preserve } = given
  const { name, value = {} } = pickSpelled(given, ['template_vars', 'chat_template_kwargs']) ?? { name: 'template_vars' }
  const variables = value as JsonObject
  for (const variable of Object.keys(variables)) {
    const kind = variablesOfReasoning.get(variable)
    const problem = variablesOfRequests.includes(variable)
      ? 'each request has it'
      : kind !== undefined && !isForced && `set ${fields[kind]} instead, which gives way to a request`
    if (problem !== false) throw new AppError('invalid-request', `${name}.${variable}: ${problem}`, { param: name })
  }
  return {
    reasoning: {
      ...(typeof enabled === 'boolean' && { enabled }),
      ...(typeof effort === 'string' && { effort }),
      ...(typeof preserve === 'boolean' && { preserve }),
    },
    variables,
  }
}

/** A preset's settings for conversations; undefined without any. */
export function joinChat(defaults: Values, forced: Values): ChatDefaults | undefined {
  const parts = [defaults.reasoning, defaults.variables, forced.reasoning, forced.variables]
  if (parts.every((part) => Object.keys(part).length === 0)) return undefined
  return {
    ...defaults,
    ...(Object.keys(forced.reasoning).length > 0 && { forcedReasoning: forced.reasoning }),
    forcedVariables: forced.variables,
  }
}
