import { AppError } from '../../contract/errors.ts'
import type { Prompt } from '../../contract/request.ts'
import type { ExchangeCommand } from './channel/ipc.ts'
import type { WorkerRequest } from './channel/worker-requests.ts'

/** The failure of a command without a reply in time: what the worker was doing, and the likely reason. */
export function tookTooLong(command: ExchangeCommand, timeoutMs: number): AppError {
  const late = `took longer than ${timeoutMs} ms`
  switch (command.type) {
    case 'prepare':
      return ofPrompt(command.prompt, late)
    case 'use-template':
      return new AppError('template-failed', `switching the chat template ${late}; it may never end`)
    case 'save-prefixes':
      return new AppError('engine-failed', `saving prefixes ${late}`)
    case 'ask':
      return ofRequest(command.request, late)
  }
}

function ofRequest(request: WorkerRequest, late: string): AppError {
  switch (request.type) {
    case 'tokenize':
    case 'render':
      return ofPrompt(request.prompt, late)
    case 'detokenize':
      return new AppError('engine-failed', `reading ${request.tokens.length} tokens as text ${late}`)
    case 'embed':
    case 'rank':
      return new AppError('engine-failed', `computing what the texts mean ${late}`)
    case 'devices':
      return new AppError('engine-failed', `reading the memory of the GPUs ${late}`)
  }
}

function ofPrompt({ type }: Prompt, late: string): AppError {
  if (type !== 'chat') return new AppError('engine-failed', `tokenizing the prompt ${late}`)
  const message = `rendering and tokenizing this conversation ${late}; its chat template may never end`
  return new AppError('template-failed', message, { at: ['prompt', 'messages'] })
}
