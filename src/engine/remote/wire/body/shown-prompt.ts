import { enforcedTools, functionTools } from '../../../../canonical/callable-tools.ts'
import type { ChatPrompt } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'

/**
 * The conversation that a server gets. Another Dragoman gets the schemas that only our grammars know, and enforces them. If the messages show the tools themselves, it gets no tools, and results become the user's text:
 * servers refuse a result without a call.
 */
export function shownPrompt(asked: ChatPrompt, profile: Pick<Profile, 'name' | 'templateVariables' | 'verbosity'>): ChatPrompt {
  const prompt = withoutUsualVerbosity(asked, profile)
  const { toolFormat, messages } = prompt
  if (toolFormat === undefined)
    return profile.name === 'dragoman' ? { ...prompt, tools: enforcedTools(functionTools(prompt.tools)) } : prompt
  return {
    ...prompt,
    tools: [],
    messages: messages.map((message) => (message.role === 'tool' ? { role: 'user', content: message.content } : message)),
  }
}

/** The default of OpenAI's models changes nothing, and most servers have no such field. */
function withoutUsualVerbosity(
  prompt: ChatPrompt,
  { templateVariables, verbosity }: Pick<Profile, 'templateVariables' | 'verbosity'>,
): ChatPrompt {
  if (templateVariables || verbosity === true || prompt.templateVariables.verbosity !== 'medium') return prompt
  const { verbosity: _, ...others } = prompt.templateVariables
  return { ...prompt, templateVariables: others }
}
