import { requestFormat } from '../../../../model-text/model-format.ts'
import { reasoningFront } from '../../../front/reasoning-front.ts'
import type { Command, Report } from '../../channel/ipc.ts'
import type { WorkerModel } from '../model/model.ts'
import { preparePrompt } from './prompt.ts'

type PrepareCommand = Extract<Command, { type: 'prepare' }>
type Prepared = Omit<Extract<Report, { type: 'prepared' }>, 'type' | 'id'>

/** Everything about a request that depends on the model and is known before it runs: its tokens, and the format of its output. */
export async function prepareGeneration(loaded: WorkerModel, command: PrepareCommand): Promise<Prepared> {
  const { prompt, maxOutputTokens } = command
  const { tokens, templateMs, reasoning } = await preparePrompt(loaded, command, maxOutputTokens)
  const format = requestFormat(loaded.format, prompt, reasoning === 'open')
  return {
    tokens,
    templateMs,
    ...(format !== undefined && { format }),
    reasoningFront: reasoningFront(command.reasoning, reasoning, loaded.thinksByDefault),
  }
}
