import { chat, streamed, user, usualTokens, words } from '../probe/asks.ts'
import type { Exchange, Server } from '../probe/exchange.ts'
import { chatText, numberAt, usageIn } from '../probe/read.ts'
import { answered, moderate, rowsOf, severe, unproven } from '../probe/row.ts'

const prompt = (server: Pick<Server, 'model'>, count: number) => chat(server, { messages: [user(words(count))], max_tokens: 2 })

/** Tokens of the prompt for one word more, from two replies that differ by this many words. */
const perWord = (small: Exchange | undefined, large: Exchange | undefined, count: number) =>
  ((large && usageIn(large).input) ?? 0) / count - ((small && usageIn(small).input) ?? 0) / count

export const usageRows = rowsOf('usage', {
  sums: [
    moderate('`total_tokens` is the sum of prompt and completion.', 'those who pay for tokens'),
    answered((server) => chat(server))(([{ json }]) => {
      const [input = 0, output = 0, total] = ['prompt', 'completion', 'total'].map((name) =>
        numberAt(json, `usage.${name}_tokens`),
      )
      return total === input + output ? undefined : `${input} + ${output} are ${total}`
    }),
  ],
  prompt: [
    severe('The count of a prompt grows with the prompt.', 'agents that watch the context, and those who pay'),
    answered((server) => [prompt(server, 40), prompt(server, 120), prompt(server, 200)])(([few, some, many]) => {
      const [first, second] = [perWord(few, some, 80), perWord(some, many, 80)]
      if (first < 0.5) return `80 words more are ${Math.round(first * 80)} tokens more`
      return Math.abs(first - second) * 80 <= 4
        ? undefined
        : `80 words more are ${Math.round(first * 80)} tokens more, then ${Math.round(second * 80)}`
    }),
  ],
  completion: [
    severe('The count of the completion is what was generated.', 'those who pay for tokens'),
    answered((server) => chat(server))(([reply]) => {
      const [text, output = 0] = [chatText(reply), usageIn(reply).output]
      // A token is at least a character, but for rare scripts, and few have more than 12 characters.
      if (text.length > 20 && output < text.length / 12) return `${output} tokens are counted for ${text.length} characters`
      return output > usualTokens ? `${output} tokens are counted, and the limit is ${usualTokens}` : undefined
    }),
  ],
  streamed: [
    moderate('A stream counts the tokens that a whole reply counts.', 'those who pay for tokens'),
    answered((server) => [chat(server), streamed(server)])(([whole, stream]) => {
      if (stream === undefined || chatText(whole) !== chatText(stream))
        return unproven('the model writes something else each time')
      const [one, two] = [usageIn(whole), usageIn(stream)]
      if (two.input === undefined) return unproven('the stream has no usage')
      return one.input === two.input && one.output === two.output
        ? undefined
        : `whole: ${one.input} and ${one.output}, streamed: ${two.input} and ${two.output}`
    }),
  ],
})
