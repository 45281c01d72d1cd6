import { compileChatTemplate } from '../model-text/template/chat-template.ts'
import { serveRequests } from './thread-reply.ts'

serveRequests((template: string) => {
  const { thinkingSwitch, isOffByDefault } = compileChatTemplate(template, {}).traits
  return { thinkingSwitch, isOffByDefault }
})
