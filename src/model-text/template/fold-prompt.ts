import { isFunctionTool } from '../../canonical/callable-tools.ts'
import type { ChatPrompt, FunctionTool } from '../../contract/request.ts'
import { openWithUser, withoutEmptyReplies, withoutReasoning, withQuestion } from './adapt-history.ts'
import { type HistoryTraits, normalizeMessages } from './normalize-messages.ts'
import { plainSchema } from './plain-schema.ts'
import { describeTool, spellIds } from './template-messages.ts'
import { type TemplateTurn, toMessage, toTurns } from './turn.ts'
import { writeUnpairedTurns } from './write-turns.ts'

/** The traits of a template that renders everything. */
const tolerant: HistoryTraits = {
  system: true,
  systemAnywhere: true,
  toolHistory: true,
  resultsAlone: false,
  tools: true,
  userAfterTool: true,
  userAfterCall: true,
  strayResults: true,
  callsTogether: true,
  callsBesideText: true,
  textBeforeCalls: true,
  repeatedUser: true,
  repeatedAssistant: true,
}
const oneSystemMessage: HistoryTraits = { ...tolerant, systemAnywhere: false }
/** The rules of Mistral's and Gemma's templates for turns. */
const strictTurns: HistoryTraits = {
  ...oneSystemMessage,
  repeatedUser: false,
  repeatedAssistant: false,
}
const noSystem: HistoryTraits = { ...strictTurns, system: false, userAfterTool: false }
const onlyTexts: HistoryTraits = { ...noSystem, toolHistory: false, tools: false }

/**
 * Forms of a conversation for an unknown template, each with less to refuse than the one before: one system message at the start, a
 * question, and calls with their results; alternating turns of the user and the assistant, ids of nine characters and plain schemas of
 * tools; no system message; calls and results as text, and no reasoning. The first leaves a sound conversation unchanged, so a server that
 * refuses only unsound ones is not assumed to need more.
 */
export const foldings: readonly ((prompt: ChatPrompt) => ChatPrompt)[] = [
  (prompt) => folded(prompt, oneSystemMessage),
  (prompt) => withPlainTools(folded(prompt, strictTurns)),
  (prompt) => withPlainTools(folded(prompt, noSystem)),
  (prompt) => withPlainTools(folded(prompt, onlyTexts)),
]

function folded(prompt: ChatPrompt, traits: HistoryTraits): ChatPrompt {
  const said = writeUnpairedTurns(toTurns(prompt.messages))
  // A template may refuse a turn with only reasoning.
  const given = traits.toolHistory ? said : said.map(withoutReasoning)
  const isStrict = !traits.repeatedUser
  const turns = normalizeMessages(isStrict ? openWithUser(withoutEmptyReplies(given)).map(withText) : withQuestion(given), traits)
  return { ...prompt, messages: turns.map((turn) => toMessage(spellIds(turn, { nineCharacterIds: isStrict }))) }
}

/** Without a text, the content is null, in which some templates search for words. */
function withText(turn: TemplateTurn): TemplateTurn {
  return turn.content.length > 0 ? turn : { ...turn, content: [{ type: 'text', text: '' }] }
}

function withPlainTools(prompt: ChatPrompt): ChatPrompt {
  return { ...prompt, tools: prompt.tools.map((tool) => (isFunctionTool(tool) ? plainTool(tool) : tool)) }
}

function plainTool(tool: FunctionTool): FunctionTool {
  const parameters = tool.parameters === undefined ? undefined : plainSchema(tool.parameters)
  return describeTool({ ...tool, ...(parameters !== undefined && { parameters }) }, { descriptions: 'parameters' })
}
