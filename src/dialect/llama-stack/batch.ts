/** A batch with the present name of the model field, which was `model` once. */
export function withModelId(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || 'model_id' in body || !('model' in body)) return body
  const { model, ...rest } = body
  return { model_id: model, ...rest }
}

/** One request for each item, numbered after the first. */
export function requestPerItem<Item, Request>(
  items: readonly Item[],
  id: string,
  make: (item: Item, requestId: string) => Request,
): readonly [Request, ...Request[]] {
  const [first, ...rest] = items.map((item, index) => make(item, index === 0 ? id : `${id}-${index}`))
  if (first === undefined) throw new Error('an empty batch was validated')
  return [first, ...rest]
}
