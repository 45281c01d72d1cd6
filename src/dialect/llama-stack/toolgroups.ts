import { AppError } from '../../contract/errors.ts'
import { plainToolUse, type ToolUse } from '../../contract/request.ts'
import { preview } from '../wire/preview.ts'
import { ownName } from './own-names.ts'
import type { ChatWire } from './schema.ts'

type GroupsWire = Pick<ChatWire, 'toolgroups' | 'tool_config' | 'tool_prompt_format'>

/**
 * The server tools that a request names by group. Throws for a group that is missing, or not for this caller, and in combination with a
 * format that presents only the caller's tools.
 */
export function decodeToolgroups(wire: GroupsWire, available: ReadonlySet<string> | undefined): Pick<Using, 'toolUse'> {
  const groups = wire.toolgroups ?? []
  if (groups.length === 0) return {}
  const format = wire.tool_config?.tool_prompt_format ?? wire.tool_prompt_format
  if (format) {
    const message = `toolgroups need the model's own format of tools: leave tool_prompt_format ${preview(format)} out`
    throw new AppError('unsupported-field', message, { param: 'toolgroups' })
  }
  const names = groups.map((group, index) => {
    const given = typeof group === 'string' ? group : group.name
    const name = ownName(given)
    if (name !== given && available?.has(name) === true) return name
    const param = typeof group === 'string' ? `toolgroups[${index}]` : `toolgroups[${index}].name`
    const message = `${param} ${preview(given)} is not a tool of this server that you may use: leave it out`
    throw new AppError('unsupported-field', message, { param })
  })
  return { toolUse: { ...plainToolUse, names: [...new Set(names)], hidesCalls: true } }
}

type Using = { readonly toolUse?: ToolUse }
