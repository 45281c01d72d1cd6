import type { ReasoningOptions } from '../../contract/request.ts'
import type { ReasoningAtEnd } from '../../model-text/model-format.ts'
import type { ReasoningFront } from './reasoning-grammar.ts'

/** If the prompt neither opened nor closed reasoning, the model may open it, unless the request or the template disables it. */
export function reasoningFront(
  { enabled, effort }: ReasoningOptions,
  atEnd: ReasoningAtEnd,
  thinksByDefault: () => boolean,
): ReasoningFront {
  switch (atEnd) {
    case 'open':
      return 'opened'
    case 'closed':
      return 'never'
    case 'untouched':
      return (enabled ?? (effort === undefined ? thinksByDefault() : effort !== 'none')) ? 'optional' : 'never'
  }
}
