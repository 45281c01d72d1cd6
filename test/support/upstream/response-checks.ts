import { createWireCheck } from '../wire-schema.ts'

const checkEvent = createWireCheck('OpenAIResponseStreamEvent')
const checkOpenEvent = createWireCheck('OpenResponses', { definition: 'StreamEvent', isOpen: true })
const checkReply = createWireCheck('OpenAIResponseStreamEvent', { definition: 'Response' })
const checkOpenReply = createWireCheck('OpenResponses', { definition: 'ResponseResource', isOpen: true })

/** Throws for an event that OpenAI's schema, or that of Open Responses, does not allow. */
export function checkResponseEvent(event: unknown): void {
  checkEvent(event)
  if (isOpenResponse(event)) checkOpenEvent(event)
}

/** Throws for a response that one of them does not allow. */
export function checkResponse(response: unknown): void {
  checkReply(response)
  if (isOpenResponse(response)) checkOpenReply(response)
}

/**
 * Open Responses has no custom tools, namespaces, searches for tools, tools of the server and citations of files, and calls the events of shown
 * thoughts by another name.
 */
function isOpenResponse(value: unknown): boolean {
  return !/reasoning_text|custom_tool_call|tool_search|web_search|code_interpreter|mcp_|file_citation|"namespace"|"custom"|"mcp"/.test(
    JSON.stringify(value),
  )
}
