// What there is beside tools: `pmcp dev resources-and-prompts.js`.
import { completion, prompt, resource, resourceChanged, resourceTemplate, tool, ToolError } from 'protomcp';

const recipes = new Map([
  ['goulash', 'Onions, beef, paprika, and time.'],
  ['dumplings', 'Flour, water, salt. Boil for 20 minutes.'],
]);

resource({
  uri: 'recipe://index',
  description: 'The names of all recipes',
  mimeType: 'application/json',
  handler: () => JSON.stringify([...recipes.keys()]),
});

resourceTemplate({
  uriTemplate: 'recipe://{name}',
  description: 'One recipe',
  mimeType: 'text/plain',
  handler(uri, { variables }) {
    const text = recipes.get(variables.name);
    if (text === undefined) throw ToolError.notFound(`there is no recipe for ${variables.name}`);
    return text;
  },
});

// A host that subscribed to a recipe hears of the change.
tool({
  name: 'write_recipe',
  description: 'Write down a recipe, or a better one',
  args: {
    type: 'object',
    properties: { name: { type: 'string' }, text: { type: 'string' } },
    required: ['name', 'text'],
  },
  handler({ name, text }) {
    recipes.set(name, text);
    resourceChanged(`recipe://${name}`);
    return `There are ${recipes.size} recipes.`;
  },
});

prompt({
  name: 'cook',
  description: 'Be led through a recipe',
  arguments: [
    { name: 'recipe', description: 'Which one', required: true },
    { name: 'style', description: 'brief or patient' },
  ],
  handler: ({ recipe, style = 'brief' }) => [
    {
      role: 'user',
      content: `Lead me through this recipe, in a ${style} way: ${recipes.get(recipe) ?? recipe}`,
    },
    { role: 'assistant', content: 'Gladly. Do you have everything at hand?' },
  ],
});

const startingWith = (value, words) => words.filter((word) => word.startsWith(value));
completion('ref/prompt', 'cook', 'recipe', (value) => startingWith(value, [...recipes.keys()]));
completion('ref/prompt', 'cook', 'style', (value) => startingWith(value, ['brief', 'patient']));
completion('ref/resource', 'recipe://{name}', 'name', (value) => ({
  values: startingWith(value, [...recipes.keys()]),
}));
