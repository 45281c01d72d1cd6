import { AppError } from '../../contract/errors.ts'

type ContextDemand = {
  readonly inputTokens: number
  /** `inputTokens` is an estimate. */
  readonly estimated?: boolean
  /** Absent: room for one token is enough. */
  readonly outputTokens: number | undefined
  readonly contextLength: number
}

/** Throws `context-length-exceeded` with every number when prompt and output together do not fit. */
export function checkContextFit(demand: ContextDemand): void {
  const { inputTokens, estimated, outputTokens, contextLength } = demand
  if (inputTokens + (outputTokens ?? 1) <= contextLength) return
  const prompt = `${estimated ? 'about ' : ''}${inputTokens} tokens in the prompt`
  const requested = outputTokens === undefined ? prompt : `${prompt} and ${outputTokens} for the output`
  const message = `the context length is ${contextLength} tokens, but the request is ${requested}; shorten one of them`
  throw new AppError('context-length-exceeded', message, {
    overflow: {
      inputTokens,
      contextLength,
      ...(estimated !== undefined && { estimated }),
      ...(outputTokens !== undefined && { outputTokens }),
    },
  })
}
