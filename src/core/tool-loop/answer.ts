import type { RequestContext } from '../../contract/context.ts'
import type { GenerationRequests } from '../../contract/request.ts'
import { type Generation, generate } from '../generate.ts'
import { seal } from '../seal.ts'
import type { AnswerDeps } from './deps.ts'
import { ToolLoop } from './tool-loop.ts'

/** Generates, with the server's tools that a request enables: several turns of the model then become one reply. */
export function answer(deps: AnswerDeps, requests: GenerationRequests, context: RequestContext): Generation {
  const [request] = requests
  const { toolUse } = request
  if (toolUse === undefined) return generate(deps, requests, context)
  return {
    run: async (emit) => {
      await seal((inner) => new ToolLoop(deps, { request, toolUse, context, emit: inner }).run(), emit, context.signal)
    },
  }
}
