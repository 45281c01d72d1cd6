import { AppError } from '../../contract/errors.ts'
import type { Prompt } from '../../contract/request.ts'
import type { QuestionCommand } from './channel/ipc.ts'
import type { Question } from './channel/questions.ts'

/** The failure of a question that the worker did not answer in time: what it was busy with, and what may be the reason. */
export function tookTooLong(command: QuestionCommand, timeoutMs: number): AppError {
  const late = `took longer than ${timeoutMs} ms`
  switch (command.type) {
    case 'prepare':
      if (command.output.type === 'text') return ofPrompt(command.prompt, late)
      return new AppError('engine-failed', `preparing the prompt and the constraint of its output ${late}`)
    case 'use-template':
      return new AppError('template-failed', `switching the chat template ${late}; it may never end`)
    case 'ask':
      return ofQuestion(command.question, late)
  }
}

function ofQuestion(question: Question, late: string): AppError {
  switch (question.type) {
    case 'tokenize':
    case 'render':
      return ofPrompt(question.prompt, late)
    case 'detokenize':
      return new AppError('engine-failed', `reading ${question.tokens.length} tokens as text ${late}`)
    case 'embed':
    case 'rank':
      return new AppError('engine-failed', `computing what the texts mean ${late}`)
  }
}

function ofPrompt({ type }: Prompt, late: string): AppError {
  if (type !== 'chat') return new AppError('engine-failed', `tokenizing the prompt ${late}`)
  const message = `rendering and tokenizing this conversation ${late}; its chat template may never end`
  return new AppError('template-failed', message, { at: ['prompt', 'messages'] })
}
