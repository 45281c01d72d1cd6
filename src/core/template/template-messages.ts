import type { ContentPart, Message, Tool } from '../request.ts'

/** A message in the form that chat templates are written against: OpenAI's, with tool arguments as data. */
export type TemplateMessage = { readonly role: string; readonly content: string | readonly unknown[] } & {
  readonly [key: string]: unknown
}

/** The two ways in which templates differ in how a message is written. */
export type Spelling = {
  /** Content must be a list of parts; a plain string is not rendered. */
  readonly typedContent: boolean
  /** Tool-call arguments are printed from data; otherwise they must be handed over as JSON text. */
  readonly objectArguments: boolean
}

/** Canonical messages in the spelling that this template understands. */
export function encodeMessages(messages: readonly Message[], spelling: Spelling): TemplateMessage[] {
  return messages.map((message) => encodeMessage(message, spelling))
}

function encodeMessage(message: Message, { typedContent, objectArguments }: Spelling): TemplateMessage {
  const text = joinText(message.content)
  const base = {
    role: message.role,
    content: typedContent ? [{ type: 'text', text }] : text,
    ...(message.name !== undefined && { name: message.name }),
  }
  switch (message.role) {
    case 'assistant':
      return {
        ...base,
        ...(message.reasoning !== undefined && { reasoning_content: message.reasoning }),
        ...(message.toolCalls.length > 0 && {
          tool_calls: message.toolCalls.map(({ id, name, arguments: json }) => ({
            id,
            type: 'function',
            function: { name, arguments: objectArguments ? parseArguments(json) : json },
          })),
        }),
      }
    case 'tool':
      return { ...base, tool_call_id: message.toolCallId }
    case 'system':
    case 'developer':
    case 'user':
      return base
  }
}

/** Tools as the list of function specifications that templates print. */
export function encodeTools(tools: readonly Tool[]): unknown[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: {
      name,
      ...(description !== undefined && { description }),
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  }))
}

/** Text parts on lines of their own, as vLLM and llama.cpp join them; parts without text are the engine's to refuse. */
export function joinText(content: readonly ContentPart[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What the model once generated need not be JSON; templates then print the text as it was.
    return text
  }
}
