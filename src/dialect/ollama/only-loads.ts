/** Whether a body has no prompt, and so only loads or unloads its model. */
export function onlyLoads(body: unknown, form: 'chat' | 'text'): boolean {
  if (typeof body !== 'object' || body === null) return false
  const isEmpty = (name: string) => {
    const value: unknown = Reflect.get(body, name)
    return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  }
  return form === 'chat' ? isEmpty('messages') : ['prompt', 'suffix', 'images'].every(isEmpty)
}
