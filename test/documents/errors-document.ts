import { AppError, type ErrorCode, errorCodes } from '../../src/contract/errors.ts'
import { encodeAnthropicError } from '../../src/dialect/anthropic/errors.ts'
import { encodeStackError } from '../../src/dialect/llama-stack/errors.ts'
import { encodeOllamaError } from '../../src/dialect/ollama/errors.ts'
import { encodeOpenaiError } from '../../src/dialect/openai/errors.ts'
import { markdownTable } from '../protocols/markdown-table.ts'

/** What each failure means, and what to do about it. */
const advice: Readonly<Record<ErrorCode, readonly [meaning: string, advice: string]>> = {
  'invalid-request': [
    'A field has a value that cannot be right, or fields contradict each other.',
    'The message names each field, its value and what is allowed. Change the request; the same one fails again.',
  ],
  'invalid-json': [
    'The body is not JSON.',
    'The message has the place. Send `content-type: application/json` and a complete body.',
  ],
  'unsupported-field': [
    'A field would change the output, and this model or engine cannot honour it.',
    'Leave the field out, or use a model that can: [protocols.md](protocols.md) says which engines honour which field. Fields without an effect on the output are only named in the header `x-dragoman-ignored`.',
  ],
  'context-length-exceeded': [
    'The prompt, with the output that was asked for, does not fit into the context of the model.',
    'Shorten the conversation or `max_tokens`, or serve the model with more context (`--context`). Nothing is silently truncated.',
  ],
  'template-failed': [
    'The chat template of the model refuses the conversation, or fails.',
    'The message has the text of the template. Often it wants roles that alternate, or no system message: [templates.md](templates.md).',
  ],
  unauthorized: ['The key is missing, invalid or expired.', 'Send `authorization: Bearer KEY`; `dragoman keys new` makes one.'],
  forbidden: [
    'The key is valid, but lacks the required scope, model or tool.',
    'The message names the scope. Use another key, or make one with `dragoman keys new --scope`.',
  ],
  'host-not-allowed': [
    'The `Host` header names a server that this one is not known as. Without keys, this protects from pages that rebind a name to your machine.',
    'Add the name to `server.allowedHosts`, or ask for keys.',
  ],
  'origin-not-allowed': ['A page of another origin asked.', 'Add the origin of the page to `server.allowedOrigins`.'],
  'route-not-found': [
    'There is no such path.',
    'The message names routes that are near. The base URL of OpenAI clients is `http://HOST:7411/v1`, that of Anthropic clients `http://HOST:7411`.',
  ],
  'model-not-found': ['No model has this name, or the key may not use it.', 'The message lists names; so does `GET /v1/models`.'],
  'not-found': [
    'There is no file, response, conversation or other thing with this id, or it belongs to another key.',
    'Use the id as it was returned, and the same key.',
  ],
  'previous-response-not-found': [
    'The response that `previous_response_id` names is not stored.',
    'It was made with `store: false`, by another key, or is older than the store keeps. Send the conversation itself.',
  ],
  'method-not-allowed': ['The path exists, the method does not.', 'The header `allow` lists the methods.'],
  'request-conflict': [
    'What is there does not allow it, such as a second model with the same name.',
    'The message names what is in the way.',
  ],
  'conversation-locked': [
    'Another request is writing to this conversation.',
    'Send one request at a time for a conversation, or try again when it has ended.',
  ],
  'connection-limit-reached': ['A WebSocket has lasted for as long as one may: 60 minutes.', 'Open another connection.'],
  'body-too-large': [
    'The body is larger than `server.bodyLimitBytes`.',
    'Send less, upload files by `/v1/files`, or raise the limit.',
  ],
  'unsupported-media-type': [
    'The `content-type` is not one that the route reads.',
    'Send `application/json`, or `multipart/form-data` for uploads.',
  ],
  'queue-full': [
    'As many requests wait for the model as may wait.',
    'Try again after `retry-after`; raise `maxQueued` or `slots`, or add a server.',
  ],
  'queue-timeout': ['The request waited as long as it may, and no slot became free.', 'As above; `limits.queueMs` is the limit.'],
  'first-token-timeout': [
    'The engine did not begin to answer in time.',
    'Long prompts take long: raise `limits.firstTokenMs`, or look at the log of the engine.',
  ],
  'stall-timeout': [
    'The engine began to answer and then was silent.',
    'Try again; the log names the server that was silent. `limits.stallMs` is the limit.',
  ],
  'rate-limit-exceeded': [
    'The key, or its group, has used what it may in this minute.',
    'Wait as `retry-after` says. The headers `x-ratelimit-*` show what remains.',
  ],
  'budget-exceeded': [
    'What the key, or its group, may use in this day or month is too little for the request.',
    'The message says what remains, and when the budget begins again; `GET /api/usage` also shows it. A smaller output limit may fit. Trying again immediately does not help, as `x-should-retry: false` says.',
  ],
  overloaded: [
    'Bodies of requests, or media, take all the memory that they may have together.',
    'Try again after `retry-after`.',
  ],
  cancelled: [
    'The request was stopped, and its kind of reply cannot be cut short.',
    'No action needed. Chats end with `length` instead.',
  ],
  internal: ['A fault of Dragoman.', 'The log has the details under the id in `x-request-id`. Please report it.'],
  'engine-failed': [
    'The engine failed while it worked for the request.',
    'Try again: the engine is started anew. The log has the reason, such as too little memory.',
  ],
  'upstream-failed': [
    'The other server refused the request or could not be reached.',
    'The message has its status and text. Look at its log.',
  ],
  'upstream-timeout': [
    'The other server did not answer in time.',
    'Check that it is running; `limits.firstTokenMs` is the limit.',
  ],
  'invalid-output': [
    'The model of another server did not write what was asked for, such as a call of the tool that `tool_choice` names.',
    'Try again, or use an engine that enforces it during generation: `llama`, `llama-server`, vLLM, SGLang.',
  ],
  'model-unavailable': [
    'The model is not loaded and cannot be now, or all of its servers are away.',
    'The message has the reason. `dragoman ps` and `/ready` show states.',
  ],
  'store-unavailable': [
    'The database of responses and conversations does not answer, or the disk is full.',
    'Try again. A new response is still answered; that it is not stored is in the log, and in its `store: false` or the header `x-dragoman-stored`.',
  ],
  'shutting-down': ['The server ends, and takes no new work.', 'Try again: behind a load balancer, another server answers.'],
}

/** All failures as a page of the documentation: codes and statuses as the dialects encode them. */
export function errorsDocument(): string {
  const intro = `# Errors

Each protocol has its own form of an error; the failures behind them are the same, and so are their names in the log and in metrics
(\`outcome\`). A message says all that is wrong with a request, with the values, in the field names of the protocol that was used.

A failure after a stream has begun is the protocol's error event, since the status is already sent. \`retry-after\` is in seconds.

## Statuses

The status is OpenAI's where a protocol is not named: chat completions, completions, Responses, embeddings, and routes of Dragoman's own. The code is what OpenAI's clients
find in \`error.code\`, the type what Anthropic's find in \`error.type\`. llama-stack and Ollama have a text only.`
  const rows = errorCodes.map((code) => {
    const error = new AppError(code, 'x')
    const openai = encodeOpenaiError(error)
    const anthropic = encodeAnthropicError(error)
    return [
      `[${code}](#${code})`,
      `${openai.status}`,
      `\`${openai.body.error.code}\``,
      `${anthropic.status}`,
      `\`${anthropic.body.error.type}\``,
      `${encodeStackError(error).status}`,
      `${encodeOllamaError(error).status}`,
    ]
  })
  const header = ['failure', 'OpenAI', 'code', 'Anthropic', 'type', 'llama-stack', 'Ollama']
  const sections = errorCodes.map(
    (code) =>
      `## ${code}\n\n\`${encodeOpenaiError(new AppError(code, 'x')).body.error.code}\`: ${advice[code][0]}\n\n${advice[code][1]}\n`,
  )
  return [intro, markdownTable(header, rows), ...sections]
    .join('\n\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replace(/\n*$/, '\n')
}
