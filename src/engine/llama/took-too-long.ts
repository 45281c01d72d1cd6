import { AppError } from '../../contract/errors.ts'
import type { ExchangeCommand } from './channel/ipc.ts'

/** The failure of a command without a reply in time: what the worker was doing, and the likely reason. */
export function tookTooLong(command: ExchangeCommand, timeoutMs: number): AppError {
  const late = `took longer than ${timeoutMs} ms`
  const work = command.type === 'ask' ? command.request : command
  switch (work.type) {
    case 'use-template':
      return new AppError('template-failed', `switching the chat template ${late}; it may never end`)
    case 'detokenize':
      return new AppError('engine-failed', `reading ${work.tokens.length} tokens as text ${late}`)
    case 'prepare':
    case 'tokenize':
    case 'render': {
      if (work.prompt.type !== 'chat') return new AppError('engine-failed', `tokenizing the prompt ${late}`)
      const message = `rendering and tokenizing this conversation ${late}; its chat template may never end`
      return new AppError('template-failed', message, { at: ['prompt', 'messages'] })
    }
    default:
      return new AppError('engine-failed', `the worker's '${work.type}' ${late}`)
  }
}
