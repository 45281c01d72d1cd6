/** The names in a group of fields. A decoder that takes a `Pick` of them cannot read a field outside its group. */
export type NamesIn<Group> = Group extends ReadonlySet<infer Name> ? Name : never

/** Whether a body has any field of the group: most have few fields, and skip the decoders of the others. */
export function mentions(wire: object, group: ReadonlySet<string>): boolean {
  for (const name of Object.keys(wire)) if (group.has(name)) return true
  return false
}
