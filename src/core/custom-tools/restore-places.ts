import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, field, fillFields } from '../../contract/field.ts'
import type { Tool } from '../../contract/request.ts'
import { isCustomTool } from './function-prompt.ts'

/** A failure of a request whose custom tools became functions, at the place of the request as it was. */
export function restorePlaces(error: unknown, tools: readonly Tool[]): unknown {
  if (!(error instanceof AppError)) return error
  const { at, param, retryAfterMs, overflow } = error
  const message = fillFields(error.template, (path) => field(...placeIn(tools, path)))
  if (message === error.template && (at === undefined || placeIn(tools, at) === at)) return error
  return new AppError(error.code, message, {
    ...(at !== undefined && { at: placeIn(tools, at) }),
    ...(param !== undefined && { param }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(overflow !== undefined && { overflow }),
    cause: error,
  })
}

/** The parameters of such a function are made from the grammar of the tool. */
function placeIn(tools: readonly Tool[], path: CanonicalPath): CanonicalPath {
  const [root, list, index, member] = path
  if (root !== 'prompt' || list !== 'tools' || typeof index !== 'number') return path
  if (member !== 'parameters' && member !== 'strict') return path
  const tool = tools[index]
  if (tool === undefined || !isCustomTool(tool)) return path
  return tool.grammar === undefined ? ['prompt', 'tools', index] : ['prompt', 'tools', index, 'grammar', 'definition']
}
