// What is said in the calls of all programs.
export const model = 'example-model'
/** Where an answer has to follow a schema. */
export const real = 'tiny'
export const greeting = [{ role: 'user', content: 'hi' }]
export const question = [{ role: 'user', content: 'How is the weather in Oslo?' }]
export const wish = [{ role: 'user', content: 'A place, please.' }]
export const thought = [{ role: 'user', content: 'think' }]
export const weather = '21 degrees'
export const limits = { max_tokens: 100 }
export const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
export const place = {
  type: 'object',
  properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] }, sunny: { type: 'boolean' } },
  required: ['city', 'sunny'],
  additionalProperties: false,
}

export async function drain(stream) {
  for await (const _ of stream);
}
