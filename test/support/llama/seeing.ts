import { llamaServerBinary, llamaServerHint } from './llama-server.ts'
import { hasSenses, sensesHint } from './senses.ts'

/** The engines that read media themselves: a model is the same on both, except for these settings. */
export const seeingEngines = [
  { engine: 'llama', settings: { engine: 'llama' as const }, isMissing: !hasSenses, hint: sensesHint },
  {
    engine: 'llama-server',
    settings: { engine: 'llama-server' as const, binary: llamaServerBinary ?? '' },
    isMissing: llamaServerBinary === undefined,
    hint: llamaServerHint,
  },
]
