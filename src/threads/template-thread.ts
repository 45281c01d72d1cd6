import { compileChatTemplate } from '../model-text/template/chat-template.ts'
import { serveRequests } from './thread-reply.ts'

serveRequests((template: string) => compileChatTemplate(template, {}).traits.thinkingSwitch)
